import type { Event, Identity } from '../domain/event/event.ts'
import { fingerprintOf, listedFingerprint } from '../domain/event/fingerprint.ts'
import {
  FingerprintSet,
  minuteOf,
  packFingerprints,
  unpackFingerprints,
  untimedMinute,
} from '../domain/event/seen.ts'
import { iso } from '../domain/text/time.ts'

/**
 * Room for the whole index of a day of a million events, of which each page of an unordered listing touches hundreds of
 * minutes.
 */
const mostSeenBytes = 33_554_432

const minuteMs = 60_000

/** What the seen windows of a process take together. Beyond the limit each drops what its page does not need. */
export interface SeenMemory {
  bytes: number
  readonly mostBytes: number
}

export function createSeenMemory(mostBytes = mostSeenBytes): SeenMemory {
  return { bytes: 0, mostBytes }
}

/** Packed fingerprints of these minutes; a minute without any is missing. */
export type LoadSeen = (minutes: readonly number[]) => Promise<Map<number, Uint8Array>>

/** What the deduplication index needs of an event. */
export type Sighting = Pick<Event, 'fingerprint' | 'timeMs' | 'hasOwnId' | 'otherFingerprint'>

/**
 * The part of a stream's seen that one pump needs: the minutes of its pages. It ends with its pump, so that it never
 * outlives a lost commit.
 */
export class SeenWindow implements Disposable {
  readonly #loadSeen: LoadSeen
  readonly #memory: SeenMemory
  /** The one that was needed longest ago comes first. */
  readonly #minutes = new Map<number, FingerprintSet>()
  /** In a flood, every page is new and of minutes with seen events. */
  #leftToCompare = 10
  /** Of the events that were read and are not committed yet; never dropped. */
  #held = new FingerprintSet()

  constructor(loadSeen: LoadSeen, memory = createSeenMemory()) {
    this.#loadSeen = loadSeen
    this.#memory = memory
    memory.bytes += this.#held.bytes
  }

  /** The events of a page that the stream neither has delivered nor holds, each once. */
  async unseenOf<Each extends Sighting>(events: readonly Each[]): Promise<Each[]> {
    return (await this.sight(events)).unseen
  }

  /**
   * What the stream knows of a page. An event without an own id counts as delivered under its own id too: another page
   * showed it beside the entry with which it shares id and time. An event with an own id counts only under that: which of
   * the two was delivered under the id that they share is not known. An event is met under the very id and time that are
   * listed, once in a scan: `last` are those that its pages before showed last.
   */
  async sight<Each extends Sighting>(
    events: readonly Each[],
    { last = [], sinceMs = -Infinity }: { readonly last?: readonly string[]; readonly sinceMs?: number } = {},
  ) {
    const minutes = new Set(events.map((event) => minuteOf(event.timeMs)))
    await this.#load(minutes)
    const held = this.#held
    const sets = new Map([...minutes].map((minute) => [minute, [this.#minutes.get(minute)!, held] as const]))
    let inPage: FingerprintSet | undefined
    const listed = new FingerprintSet(events.length + last.length)
    for (const identity of last) listed.add(BigInt(`0x${identity}`))
    let [met, later, apart] = [0, 0, 0]
    const unseen = events.filter((event) => {
      const { timeMs, hasOwnId = false } = event
      const ofMinute = sets.get(minuteOf(timeMs))!
      const identity = listedFingerprint(event)
      const isMet = ofMinute[0].has(identity)
      const isCounted = listed.add(identity) && (timeMs === undefined || timeMs >= sinceMs)
      if (isMet && isCounted) met++
      if (!isMet && isCounted && hasOwnId) apart++
      if (isMet && !hasOwnId) return false
      const isUnseen =
        !isHeldIn(ofMinute, event) && (inPage ??= new FingerprintSet(events.length)).add(event.fingerprint)
      if (!isMet && isCounted && (held.has(identity) || (isUnseen && !hasOwnId))) later++
      return isUnseen
    })
    return { unseen, met, metOnceSeen: met + later, apart, listed }
  }

  /**
   * Of a page of which nothing is seen: an event that the stream has delivered under another time of the same second, as
   * where the API lists times with more or fewer digits than before. Looks at three events of some pages, and only where
   * most events are of minutes with seen ones: an event of a whole second takes ms, its id is tried with every ms around.
   */
  seenUnderOtherTime<Each extends Pick<Event, 'id' | 'timeMs'>>(unseen: readonly Each[]): Each | undefined {
    if (this.#leftToCompare === 0) return undefined
    const setAt = (timeMs: number) => this.#minutes.get(minuteOf(timeMs))
    const among = unseen.filter(({ timeMs }) => timeMs !== undefined && (setAt(timeMs)?.size ?? 0) > 0)
    if (among.length * 2 <= unseen.length) return undefined
    this.#leftToCompare--
    const some = new Set([among[0]!, among[among.length >> 1]!, among.at(-1)!])
    return [...some].find(({ id, timeMs = 0 }) =>
      timesAround(timeMs).some((ms) => setAt(ms)?.has(fingerprintOf({ id, time: iso(ms) })) === true),
    )
  }

  /** Of packed fingerprints, by minute, those that the stream has not delivered. */
  async unseenIn(packed: ReadonlyMap<number, Uint8Array>): Promise<Sighting[]> {
    await this.#load(new Set(packed.keys()))
    return [...packed].flatMap(([minute, bytes]) => {
      const ofMinute = this.#minutes.get(minute)!
      const time = minute === untimedMinute ? {} : { timeMs: minute * minuteMs }
      return unpackFingerprints(bytes)
        .filter((fingerprint) => !ofMinute.has(fingerprint))
        .map((fingerprint) => ({ fingerprint, ...time }))
    })
  }

  /** Events that the next commit will add: another page of the same load may show them again. */
  hold(events: readonly Sighting[]): void {
    for (const { fingerprint } of events) this.#add(this.#held, fingerprint)
  }

  /** Call it after the commit that added `events`; of those held, only `kept` are held on. */
  add(events: readonly Sighting[], kept: readonly Sighting[] = []): void {
    this.#memory.bytes -= this.#held.bytes
    this.#held = new FingerprintSet()
    this.#memory.bytes += this.#held.bytes
    this.hold(kept)
    for (const { timeMs, fingerprint } of events) {
      const set = this.#minutes.get(minuteOf(timeMs))
      if (set !== undefined) this.#add(set, fingerprint)
    }
  }

  [Symbol.dispose](): void {
    for (const [minute, set] of this.#minutes) this.#drop(minute, set)
    this.#memory.bytes -= this.#held.bytes
  }

  async #load(wanted: ReadonlySet<number>): Promise<void> {
    const missing: number[] = []
    for (const minute of wanted) {
      const set = this.#minutes.get(minute)
      this.#minutes.delete(minute)
      if (set === undefined) missing.push(minute)
      else this.#minutes.set(minute, set)
    }
    if (missing.length > 0) {
      const loaded = await this.#loadSeen(missing)
      for (const minute of missing) {
        const set = new FingerprintSet()
        const packed = loaded.get(minute)
        if (packed !== undefined) set.addPacked(packed)
        this.#memory.bytes += set.bytes
        this.#minutes.set(minute, set)
      }
    }
    for (const [minute, set] of this.#minutes) {
      if (this.#memory.bytes <= this.#memory.mostBytes) return
      if (!wanted.has(minute)) this.#drop(minute, set)
    }
  }

  #add(set: FingerprintSet, fingerprint: bigint): void {
    const before = set.bytes
    set.add(fingerprint)
    this.#memory.bytes += set.bytes - before
  }

  #drop(minute: number, set: FingerprintSet): void {
    this.#memory.bytes -= set.bytes
    this.#minutes.delete(minute)
  }
}

/** The whole seconds around a time; around a whole second, the times that may have been cut or rounded to it. */
function timesAround(timeMs: number): number[] {
  const second = Math.floor(timeMs / 1000) * 1000
  if (second !== timeMs) return [second, second + 1000]
  return Array.from({ length: 999 }, (_, index) => [timeMs + index + 1, timeMs - index - 1]).flat()
}

/** Whether one of the sets holds the event, under either form of its id. */
export function isHeldIn(sets: readonly FingerprintSet[], event: Sighting): boolean {
  if (isIn(sets, event.fingerprint)) return true
  if (event.hasOwnId === true || !sets.some((set) => set.hasOwnIds)) return false
  const other = event.otherFingerprint?.()
  return other !== undefined && isIn(sets, other)
}

/** A loop, since it runs for each event that is read again: a callback would be an object each time. */
function isIn(sets: readonly FingerprintSet[], fingerprint: bigint): boolean {
  for (const set of sets) if (set.has(fingerprint)) return true
  return false
}

export function packSightings(events: readonly Sighting[]): Map<number, Uint8Array> {
  const groups = Map.groupBy(events, (event) => minuteOf(event.timeMs))
  return new Map(
    [...groups].map(([minute, group]) => [minute, packFingerprints(group.map((event) => event.fingerprint))]),
  )
}

/** An event in the deduplication index, of which only the identity is known. */
export function seenAs(identity: Identity): Sighting {
  const fingerprint = fingerprintOf(identity)
  const timeMs = identity.time === undefined ? NaN : Date.parse(identity.time)
  return Number.isNaN(timeMs) ? { fingerprint } : { fingerprint, timeMs }
}
