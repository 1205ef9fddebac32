import type { Identity } from '../../domain/event/event.ts'
import { FingerprintSet, minuteOf, type MinuteCount } from '../../domain/event/seen.ts'
import { seenAs } from '../../pump/seen-window.ts'
import { minuteText, type FileMinute, type LineProblem, type LineReport } from '../../domain/audit-report.ts'
import { byCounts } from './compare-ledger.ts'

/** Number of events by minute of event time, and the sum of their fingerprints modulo 2^64. */
export class MinuteTally {
  readonly minutes = new Map<number, { count: number; hash: bigint }>()

  constructor(counts: readonly MinuteCount[] = []) {
    for (const { minute, count, hash } of counts) this.minutes.set(minute, { count, hash })
  }

  /** `times` -1 subtracts the event. */
  add(identity: Identity, times: 1 | -1 = 1): void {
    const { fingerprint, timeMs } = seenAs(identity)
    const minute = minuteOf(timeMs)
    const held = this.minutes.get(minute) ?? { count: 0, hash: 0n }
    held.count += times
    held.hash = BigInt.asUintN(64, held.hash + BigInt(times) * fingerprint)
    this.minutes.set(minute, held)
  }

  at(minute: number): { readonly count: number; readonly hash: bigint } {
    return this.minutes.get(minute) ?? { count: 0, hash: 0n }
  }

  /** Minutes in which the two tallies differ. */
  differing(other: MinuteTally): number[] {
    const all = new Set([...this.minutes.keys(), ...other.minutes.keys()])
    const differ = (minute: number) => {
      const [own, its] = [this.at(minute), other.at(minute)]
      return own.count !== its.count || own.hash !== its.hash
    }
    return [...all].filter(differ).sort((left, right) => left - right)
  }
}

/** Counts all bad lines, and keeps the first of them. */
export class ProblemTally {
  readonly counts: Record<LineProblem, number> = {
    unreadable: 0,
    unknown: 0,
    doubled: 0,
    torn: 0,
    damaged: 0,
  }
  readonly #named: LineReport[] = []

  add(report: LineReport): void {
    this.counts[report.problem]++
    if (this.#named.length < mostNamed) this.#named.push(report)
  }

  get total(): number {
    let total = 0
    for (const count of Object.values(this.counts)) total += count
    return total
  }

  named(): LineReport[] {
    return this.#named.toSorted((a, b) => (a.part === b.part ? a.line - b.line : a.part < b.part ? -1 : 1))
  }
}

const mostNamed = 1_000

/** One minute that is compared line by line. */
export class DoubtfulMinute {
  /** Events that should have a line; undefined where the fingerprints were dropped. */
  readonly #known: FingerprintSet | undefined
  readonly #found = new FingerprintSet()
  readonly #strange = new FingerprintSet()
  #lines = 0
  #extra = 0

  constructor(known: readonly bigint[] | undefined) {
    if (known === undefined) return
    this.#known = new FingerprintSet()
    for (const fingerprint of known) this.#known.add(fingerprint)
  }

  get isByCounts(): boolean {
    return this.#known === undefined
  }

  /** What is wrong with a line of this event, given the lines before it. */
  problem(fingerprint: bigint): 'unknown' | 'doubled' | undefined {
    this.#lines++
    if (this.#known?.has(fingerprint) === false) {
      this.#extra++
      this.#strange.add(fingerprint)
      return 'unknown'
    }
    if (this.#found.add(fingerprint)) return undefined
    this.#extra++
    return 'doubled'
  }

  /** Fingerprints of events without a line, and of lines without an event; none where only counts remain. */
  *absent(): Generator<bigint> {
    if (this.#known === undefined) return
    for (const fingerprint of this.#known) if (!this.#found.has(fingerprint)) yield fingerprint
  }

  strange(): Iterable<bigint> {
    return this.#strange
  }

  /** Call it once all lines were seen. */
  report(minute: number, expected: { readonly count: number; readonly hash: bigint }): FileMinute {
    const { missing, extra } = this.#known === undefined ? this.#byCounts(expected) : this.#byEvents()
    return {
      minute: minuteText(minute),
      ledger: expected.count,
      lines: this.#lines,
      missing,
      extra: this.#extra + extra,
    }
  }

  #byEvents() {
    let missing = 0
    for (const _ of this.absent()) missing++
    return { missing, extra: 0 }
  }

  #byCounts(expected: { readonly count: number; readonly hash: bigint }) {
    let hash = 0n
    for (const fingerprint of this.#found) hash = BigInt.asUintN(64, hash + fingerprint)
    if (this.#found.size === expected.count && hash === expected.hash) return { missing: 0, extra: 0 }
    return byCounts(expected.count, this.#found.size)
  }
}
