import type { Adopted, Delivery, Receipt } from '../../../src/domain/delivery.ts'
import type { Event, Identity } from '../../../src/domain/event.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type { OpenOptions, OpenStream, Sink } from '../../../src/ports.ts'
import { identityIn, lineOf } from './entry.ts'
import type { Life } from './faults.ts'

interface Part {
  readonly writer: string
  readonly lines: string[]
}

/** A model of a file sink's folder: parts with lines, cut back to their receipts under the fence. */
export class ModelFiles {
  readonly #streams = new Map<string, Map<string, Part>>()
  readonly #alive = new Set<string>()

  /** A process with a writer's identity; its lock is free once it is dead. */
  born(writer: string): void {
    this.#alive.add(writer)
  }

  died(writer: string): void {
    this.#alive.delete(writer)
  }

  /** What stands in the parts up to the receipts. */
  committed(stream: Stream, receipts: readonly Receipt[]): string[] {
    const parts = this.#streams.get(streamKey(stream))
    return receipts.flatMap(({ part, lines }) => parts?.get(part)?.lines.slice(0, lines) ?? [])
  }

  sink(name: string, writer: string, life: Life): Sink {
    return {
      name,
      address: 'model',
      open: async (stream, taken) => {
        await life.step('before open')
        const parts = this.#partsOf(stream)
        const adopted = await this.#recover(parts, writer, taken)
        await life.step('after open')
        const known = [...taken.receipts, ...(adopted?.receipts ?? [])]
        const open = this.#openStream(parts, writer, known, life)
        return adopted === undefined ? open : { ...open, adopted }
      },
      check: async () => undefined,
      close: async () => undefined,
    }
  }

  async #recover(
    parts: Map<string, Part>,
    writer: string,
    { receipts, confirm, readable, standOnlyHere }: OpenOptions,
  ): Promise<Adopted | undefined> {
    const forward: Receipt[] = []
    const identities: Identity[] = []
    for (const [name, part] of parts) {
      const receipt = receipts.find((held) => held.part === name)
      if (part.lines.length === receipt?.lines) continue
      const isOther = part.writer !== writer
      if (isOther && this.#alive.has(part.writer)) continue
      // Its lock is held from here to the cut.
      if (isOther) this.#alive.add(part.writer)
      try {
        await confirm()
        const { length } = part.lines
        const extra = part.lines.slice(receipt?.lines ?? 0).map(identityIn)
        if (!readable && extra.length > 0 && (await standOnlyHere!(extra))) {
          identities.push(...extra)
          forward.push({ writer: part.writer, part: name, bytes: length, lines: length })
        } else if (receipt === undefined) parts.delete(name)
        else part.lines.length = Math.min(length, receipt.lines)
      } finally {
        if (isOther) this.#alive.delete(part.writer)
      }
    }
    return forward.length === 0 ? undefined : { identities, receipts: forward }
  }

  #openStream(
    parts: Map<string, Part>,
    writer: string,
    receipts: readonly Receipt[],
    life: Life,
  ): OpenStream {
    const name = freeName(parts, writer, receipts)
    let expected = receipts.findLast((receipt) => receipt.part === name)?.lines ?? 0
    return {
      deliver: async (events: readonly Event[]): Promise<Delivery> => {
        await life.step('before append')
        const part = parts.get(name) ?? { writer, lines: [] }
        parts.set(name, part)
        if (part.lines.length !== expected) throw new Error('the part is not what its receipt says')
        const half = Math.ceil(events.length / 2)
        part.lines.push(...events.slice(0, half).map(lineOf))
        await life.step('amid append')
        if (life.chance('sinkFailure')) {
          part.lines.length = expected
          throw new Failure('stop', 'disk_full', 'no space left')
        }
        part.lines.push(...events.slice(half).map(lineOf))
        expected = part.lines.length
        await life.step('after append')
        const receipt = { writer, part: name, bytes: expected, lines: expected }
        return { refusals: [], receipts: [receipt], bytes: events.length }
      },
      close: async () => undefined,
    }
  }

  #partsOf(stream: Stream): Map<string, Part> {
    const key = streamKey(stream)
    const held = this.#streams.get(key) ?? new Map<string, Part>()
    this.#streams.set(key, held)
    return held
  }
}

/** The writer's latest part where it is as long as its receipt; a part that is shorter or longer is left for good. */
function freeName(parts: Map<string, Part>, writer: string, receipts: readonly Receipt[]): string {
  for (let number = 1; ; number++) {
    const name = `${number}-${writer}.ndjson`
    const known = receipts.findLast((receipt) => receipt.part === name)?.lines ?? 0
    if ((parts.get(name)?.lines.length ?? 0) === known) return name
  }
}
