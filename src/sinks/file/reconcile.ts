import { unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { CommittedPart } from '../../domain/event/delivery.ts'
import type { Reconciliation } from '../../ports/delivery.ts'
import { cleanPart, inspectPart, inspectParts, type Known, type PartState } from './compare.ts'
import { copyEnd, copyPath, dropOldCopies, headsOf, keepLongest, moveAside } from './copies.ts'
import { cutFile, endOfWholeLines, findFolder, guarded, throwIfAborted } from './files.ts'
import {
  compressedLength,
  fullAt,
  isLengthOf,
  lookAtPart,
  numberOf,
  parsePartName,
  type PartOnDisk,
} from './parts.ts'
import type { Writer } from './writer.ts'

/** What the next writer of a stream needs to continue. */
export type Continuation = Awaited<ReturnType<typeof reconcile>>

/** Brings a stream's parts back to their committed lengths. At most one call per stream at a time. */
export async function reconcile(writer: Writer, place: string, known: Reconciliation, signal: AbortSignal) {
  const { root, settings } = writer
  const to = { known, sink: settings.name, owners: await writer.owners() }
  const settledTo = writer.settled.get(place) ?? 0
  const states = await inspectParts(await findFolder(root, place), to, settledTo)
  const parts = new Parts(writer, place, to, signal)
  const after: PartState[] = []
  const foreign = new Set<string>()
  for (const state of states) {
    throwIfAborted(signal)
    if (state.isDropped) continue
    if (state.report?.problem === 'foreign') foreign.add(state.report.why)
    after.push(await parts.broughtBack(state))
  }
  writer.settle(place, settledAfter(writer, after, settledTo))
  if (foreign.size > 0)
    writer.emitOnce(root, { name: 'PartsOfAnotherStore', sink: to.sink, why: [...foreign].join('; ') })
  const clean = after.flatMap(cleanPart)
  for (const { committed } of clean) writer.compress(place, committed)
  const part = continued(writer, clean)
  return {
    part,
    /** No new part begins as one of these. */
    heads: part === undefined ? await headsOf(root, place, known) : [],
    /** First part number never used. */
    nextNumber: 1 + Math.max(settledTo, ...states.map(({ name }) => numberOf(name))),
  }
}

/** The parts of one stream, while they are brought back. */
class Parts {
  readonly #writer: Writer
  readonly #place: string
  readonly #to: Known<Reconciliation>
  readonly #signal: AbortSignal

  constructor(writer: Writer, place: string, to: Known<Reconciliation>, signal: AbortSignal) {
    this.#writer = writer
    this.#place = place
    this.#to = to
    this.#signal = signal
  }

  /** Normally nothing is to be done. A change requires the lock of the part's writer. Returns the state after it. */
  async broughtBack(state: PartState): Promise<PartState> {
    const { name, file, committed, report } = state
    if (report?.problem === 'foreign' && committed !== undefined) this.#sayReplaced(name, report.why)
    // A part whose writer was never on this path is on another host's disk: not reported.
    if (report?.problem === 'missing' && report.isElsewhere !== true) this.#sayShort(committed!, 0)
    if (file === undefined || report?.problem === 'foreign') return state
    const hasBothForms = file.plain !== undefined && file.compressed !== undefined
    if (committed !== undefined && report === undefined && !hasBothForms) return state
    using lock = await this.#writer.hold(parsePartName(name)!.writer)
    // The writer is alive: its next pump cuts the part, or the first pump after that writer's death.
    if (lock === undefined) return state
    // Another pump may have had the stream while this one was suspended: its committed lengths would then be old, and
    // a cut would destroy committed lines. This includes own parts, since pumps of one process share a writer.
    await this.#to.known.confirm()
    const folder = dirname(file.path)
    const held = await lookAtPart(folder, name)
    const { root } = this.#writer
    if (held?.irregular === false)
      await guarded(`${root}/${this.#place}/${name}`, () => this.#bringBack(held, committed))
    return await inspectPart(folder, name, committed, this.#to)
  }

  /** The caller holds the lock of the part's writer. */
  async #bringBack(part: PartOnDisk, committed: CommittedPart | undefined): Promise<void> {
    const { name, path, plain, compressed } = part
    if (compressed !== undefined) return this.#bringBackCompressed(part, compressed, committed)
    const { size } = plain!
    const bytes = committed?.bytes ?? 0
    const end = await endOfWholeLines(path, Math.min(size, bytes))
    if (size < bytes) {
      // A short part is neither padded nor continued.
      this.#sayShort(committed!, size)
      await cutFile(path, end)
      return this.#sayCut(name, size - end, false)
    }
    if (end < bytes) return this.#sayReplaced(name, 'its content is not what shieldlog wrote')
    if (size > bytes) await this.#cut(part, size, committed)
    else if (committed === undefined) await unlink(path)
    this.#sayCut(name, size - bytes, true)
  }

  /** What is cut is kept first; a part without a committed line is moved as it is. */
  async #cut(part: PartOnDisk, size: number, committed: CommittedPart | undefined): Promise<void> {
    const { path } = part
    const { known } = this.#to
    const bytes = committed?.bytes ?? 0
    const copy = await this.#copyOf(part.name, bytes)
    if (committed !== undefined) await copyEnd(part, bytes, copy, this.#writer.settings, this.#signal)
    const hasLines = (await endOfWholeLines(path, size)) > bytes
    if (hasLines) await known.unreadable?.lost(copy)
    if (committed !== undefined) return cutFile(path, bytes)
    await moveAside(path, copy)
    if (known.unreadable === undefined) await keepLongest(this.#place, dirname(copy), known)
  }

  /**
   * Where both forms exist, the compressed one is complete and its rename was durable, so the plain one is removed; if
   * the lengths differ, it is moved aside. A compressed part is never cut.
   */
  async #bringBackCompressed(
    { name, path, plain }: PartOnDisk,
    compressed: string,
    committed: CommittedPart | undefined,
  ): Promise<void> {
    const length = await compressedLength(compressed)
    if (plain !== undefined) {
      if (!isLengthOf(length, compressed, plain.size)) {
        await moveAside(path, await this.#copyOf(name, 0))
        const why = 'a compressed file of another length exists; the plain file was moved aside'
        this.#sayReplaced(name, why)
      } else await unlink(path)
    }
    if (length === undefined || isLengthOf(length, compressed, committed?.bytes ?? 0)) return
    if (committed !== undefined && length < committed.bytes) this.#sayShort(committed, length)
    else if (this.#to.known.unreadable === undefined) {
      const about = `${this.#place}/${name}`
      const text = `${about} is compressed and contains lines that the state does not know; they will be written twice`
      this.#writer.emitOnce(about, { name: 'Warned', about: 'compressed part', text })
    }
  }

  async #copyOf(name: string, from: number): Promise<string> {
    const { root, settings, deps } = this.#writer
    await dropOldCopies(root, deps.clock.now())
    return copyPath(root, settings, this.#place, name, from)
  }

  #sayShort(committed: CommittedPart, found: number): void {
    const part = `${this.#place}/${committed.part}`
    const event = { name: 'FileShort', sink: this.#to.sink, part, expected: committed.bytes, found } as const
    this.#writer.emitOnce(part, event)
  }

  #sayReplaced(name: string, why: string): void {
    const part = `${this.#place}/${name}`
    this.#writer.emitOnce(part, { name: 'FileReplaced', sink: this.#to.sink, part, why })
  }

  #sayCut(name: string, bytes: number, keptAside: boolean): void {
    const part = `${this.#place}/${name}`
    if (bytes > 0) this.#writer.emit({ name: 'FileCut', sink: this.#to.sink, part, bytes, keptAside })
  }
}

/** The writer's own latest part, if it takes another delivery. */
function continued({ deps, identity, settings }: Writer, clean: ReturnType<typeof cleanPart>) {
  const own = clean.filter(({ committed }) => committed.writer === identity.id)
  const latest = own.toSorted((a, b) => numberOf(a.committed.part) - numberOf(b.committed.part)).at(-1)
  const isOpen = latest?.isClosed === false && deps.clock.now() < fullAt(settings, latest.committed)
  return isOpen ? latest.committed : undefined
}

/** Up to which number all parts take no delivery any more, and have the form in which they stay. */
function settledAfter({ deps, settings }: Writer, states: readonly PartState[], before: number): number {
  let [settledTo, openFrom] = [before, Infinity]
  for (const { name, committed, file, report } of states) {
    if (committed === undefined) continue
    const isFull = deps.clock.now() >= fullAt(settings, committed)
    const staysPlain = settings.compress === 'none' || report !== undefined
    const hasForm = file?.plain === undefined || (file.compressed === undefined && staysPlain)
    if (isFull && hasForm && report?.problem !== 'longer') settledTo = Math.max(settledTo, numberOf(name))
    else openFrom = Math.min(openFrom, numberOf(name))
  }
  return Math.min(settledTo, openFrom - 1)
}
