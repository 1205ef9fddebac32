import type { Delivery, CommittedPart } from '../../../src/domain/event/delivery.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type {
  LoadBounds,
  OpenStream,
  Reconciliation,
  TransactionalSink,
} from '../../../src/ports/delivery.ts'
import { lineOf } from './entry.ts'
import type { Life } from './faults.ts'

interface Part {
  readonly writer: string
  readonly lines: string[]
  /** Lines were cut off: nothing is appended to it. */
  isClosed: boolean
  /** Up to where a follower has read it. */
  followed: number
}

/** A model of a file sink's folder: parts with lines, cut back to their committed lengths under the fence. */
export class ModelFiles {
  readonly #streams = new Map<string, Map<string, Part>>()
  /** What a follower has read that reads just before lines are cut off, and at other times not. */
  readonly #followed = new Set<string>()
  readonly #alive = new Set<string>()
  readonly #load: Partial<LoadBounds>

  constructor(load: Partial<LoadBounds>) {
    this.#load = load
  }

  /** A process with a writer's identity; its lock is free once it is dead. */
  born(writer: string): void {
    this.#alive.add(writer)
  }

  died(writer: string): void {
    this.#alive.delete(writer)
  }

  /** What stands in the parts up to the committed lengths. */
  committed(stream: Stream, committed: readonly CommittedPart[]): string[] {
    const parts = this.#streams.get(streamKey(stream))
    return committed.flatMap(({ part, lines }) => parts?.get(part)?.lines.slice(0, lines) ?? [])
  }

  /** What stands in the parts, whoever wrote it. */
  all(stream: Stream): string[] {
    return [...(this.#streams.get(streamKey(stream))?.values() ?? [])].flatMap(({ lines }) => lines)
  }

  /** What stands in the parts and a follower never reads, as it goes on where it stopped. */
  unfollowed(stream: Stream): string[] {
    for (const part of this.#partsOf(stream).values()) this.#follow(part)
    return this.all(stream).filter((line) => !this.#followed.has(line))
  }

  #follow(part: Part): void {
    for (const line of part.lines.slice(part.followed)) this.#followed.add(line)
    part.followed = part.lines.length
  }

  #cut(part: Part, lines: number): void {
    if (part.lines.length <= lines) return
    this.#follow(part)
    part.isClosed = true
    part.lines.length = lines
  }

  /** Lines that nobody commits: beyond the committed lengths, in parts of this process and of dead ones. */
  leftOver(stream: Stream, committed: readonly CommittedPart[], process: string): string[] {
    return [...(this.#streams.get(streamKey(stream)) ?? [])].flatMap(([name, { writer, lines }]) => {
      if (writer !== process && this.#alive.has(writer)) return []
      return lines.slice(committed.find(({ part }) => part === name)?.lines ?? 0)
    })
  }

  sink(name: string, writer: string, life: Life): TransactionalSink {
    return {
      name,
      address: 'model',
      load: this.#load,
      reconcile: async (stream, known) => {
        await life.step('before open')
        const parts = this.#partsOf(stream)
        const committed = await this.#reconcile(parts, writer, known)
        await life.step('after open')
        return this.#openStream(parts, writer, committed, life)
      },
      hasUncommitted: async () => true,
      check: async () => undefined,
      close: async () => undefined,
    }
  }

  async #reconcile(
    parts: Map<string, Part>,
    writer: string,
    { committed: before, confirm }: Reconciliation,
  ): Promise<CommittedPart[]> {
    const committed = new Map(before.map((committedPart) => [committedPart.part, committedPart]))
    for (const [name, part] of new Map(parts)) {
      const known = committed.get(name)
      if (part.lines.length === known?.lines) continue
      const isOther = part.writer !== writer
      if (isOther && this.#alive.has(part.writer)) continue
      // Its lock is held from here to the cut.
      if (isOther) this.#alive.add(part.writer)
      try {
        await confirm()
        this.#cut(part, known?.lines ?? 0)
        if (known === undefined) parts.delete(name)
      } finally {
        if (isOther) this.#alive.delete(part.writer)
      }
    }
    return [...committed.values()]
  }

  #openStream(
    parts: Map<string, Part>,
    writer: string,
    committed: readonly CommittedPart[],
    life: Life,
  ): OpenStream {
    const committedLines = (name: string) => committed.findLast(({ part }) => part === name)?.lines ?? 0
    // The latest part where it is as long as its committed length; another part is left for good.
    const freeName = () =>
      nameFor(writer, (each) => {
        const { lines: { length } = [], isClosed } = parts.get(each) ?? {}
        return isClosed !== true && (length ?? 0) === committedLines(each)
      })
    const name = freeName()
    let expected = committedLines(name)
    return {
      deliver: async (events: readonly Event[]): Promise<Delivery> => {
        await life.step('before append')
        const part = parts.get(name) ?? { writer, lines: [], isClosed: false, followed: 0 }
        parts.set(name, part)
        if (part.lines.length !== expected) throw new Error('the part is not what its committed length says')
        const half = Math.ceil(events.length / 2)
        part.lines.push(...events.slice(0, half).map(lineOf))
        await life.step('amid append')
        if (life.chance('sinkFailure')) {
          this.#cut(part, expected)
          throw new Failure('stop', 'disk_full', 'no space left')
        }
        part.lines.push(...events.slice(half).map(lineOf))
        expected = part.lines.length
        await life.step('after append')
        const committedPart = { writer, part: name, bytes: expected, lines: expected }
        return { refusals: [], committed: [committedPart], bytes: events.length }
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

/** The first free name of a part of this writer. */
function nameFor(writer: string, isFree: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const name = `${number}-${writer}.ndjson`
    if (isFree(name)) return name
  }
}
