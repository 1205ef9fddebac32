import type { InternalEvent } from '../domain/internal-event.ts'
import type { Fields, LineLevel } from './logger.ts'
import { countPhrase, durationPhrase } from './phrases.ts'

export interface Report {
  readonly event: InternalEvent['name']
  /** Reports with the same event and group form one condition. Never built from text of the wire. */
  readonly group: string
  readonly level: LineLevel
  /** Who has the condition; default: the group. A member has one condition of an event at a time. */
  readonly member?: string
  readonly zone?: number
  readonly sink?: string
  /** The first line. */
  readonly message: string
  /** Subject of the later lines, for example `account default: no answer in time`. */
  readonly about: string
  /** Fields of the condition. */
  readonly fields?: Fields
  /** Fields of this report; on the first line only. */
  readonly details?: Fields
  /** Somebody will report its end; no when absent. */
  readonly hasEnd?: boolean
  /** A member that sends no report for this time leaves the condition; default: ten minutes. */
  readonly fadesAfterMs?: number
  /** Ignores an end within this time, since late answers of earlier requests say nothing about the condition. */
  readonly holdsForMs?: number
  /** Logs the beginning and the end only. */
  readonly once?: boolean
}

/** A line of a condition. */
export interface Told {
  readonly level: LineLevel
  readonly event: Report['event']
  readonly message: string
  readonly fields: Fields
}

type Phase = 'begins' | 'lasts' | 'ends'

const tenMinutesMs = 600_000
const mostBeginnings = 3

/** One cause, however many streams it affects. Times are ms of a monotonic clock. */
export class Condition {
  /** The members, and until when each stays one without a further report. */
  readonly members = new Map<string, Pick<Report, 'zone' | 'sink'> & { readonly untilMs: number }>()
  readonly #tell: (line: Told) => void
  /** Every zone affected since it began. */
  readonly #zones = new Set<number>()
  #latest: Report
  #count = 0
  #untold = 0
  #beganAtMs = 0
  #toldAtMs = Number.NEGATIVE_INFINITY
  #holdsUntilMs = Number.NEGATIVE_INFINITY
  /** Times of the beginnings logged in the last ten minutes. */
  #beginnings: number[] = []
  /** Of the latest line. */
  #phase: Phase = 'ends'

  constructor(first: Report, tell: (line: Told) => void) {
    this.#latest = first
    this.#tell = tell
  }

  report(report: Report, nowMs: number): void {
    const isTold = this.members.size === 0 && this.#begin(nowMs)
    const { zone, sink, member = report.group, holdsForMs = 0, fadesAfterMs = tenMinutesMs } = report
    this.#latest = report
    this.#count++
    this.#untold++
    this.#holdsUntilMs = Math.max(this.#holdsUntilMs, nowMs + holdsForMs)
    if (zone !== undefined) this.#zones.add(zone)
    this.members.set(member, {
      ...(zone !== undefined && { zone }),
      ...(sink !== undefined && { sink }),
      untilMs: nowMs + fadesAfterMs,
    })
    if (isTold) this.#say('begins', report.message, nowMs)
  }

  /** Too early for an end. */
  holds(nowMs: number): boolean {
    return nowMs < this.#holdsUntilMs
  }

  leave(member: string, nowMs: number, how = 'ended'): void {
    if (!this.members.delete(member) || this.members.size > 0) return
    // If the latest line already reports the end, no further line is needed.
    if (this.#latest.hasEnd === true && this.#phase !== 'ends')
      this.#say('ends', this.#summary(nowMs, how), nowMs)
  }

  /** Logs the lines that are due. */
  turn(nowMs: number): void {
    const { hasEnd = false, once = false } = this.#latest
    const stands = this.members.size > 0
    const isDue = this.#untold > 0 || (stands && hasEnd)
    if (once || !isDue || nowMs - this.#toldAtMs < tenMinutesMs) return
    const how = !hasEnd ? undefined : stands ? 'still' : 'ended'
    this.#say(how === 'ended' ? 'ends' : 'lasts', this.#summary(nowMs, how), nowMs)
  }

  isForgotten(nowMs: number): boolean {
    const hasNothingToTell = this.#untold === 0 || this.#latest.once === true
    return this.members.size === 0 && hasNothingToTell && nowMs - this.#toldAtMs >= tenMinutesMs
  }

  /** Limits flapping: a fourth beginning within ten minutes is counted, not logged. */
  #begin(nowMs: number): boolean {
    this.#beginnings = this.#beginnings.filter((atMs) => nowMs - atMs < tenMinutesMs)
    if (this.#beginnings.length >= mostBeginnings) return false
    this.#beginnings.push(nowMs)
    this.#beganAtMs = nowMs
    this.#count = 0
    this.#zones.clear()
    return true
  }

  #say(phase: Phase, message: string, nowMs: number): void {
    const { event, hasEnd = false, fields, details, level } = this.#latest
    this.#toldAtMs = nowMs
    this.#untold = 0
    this.#phase = phase
    const said = {
      ...(hasEnd ? { phase } : {}),
      ...fields,
      ...(phase === 'begins' ? details : {}),
      ...(phase === 'lasts' ? { latest: this.#latest.message } : {}),
      count: this.#count,
      ...(this.#zones.size > 1 ? { zones: this.#zones.size } : {}),
    }
    this.#tell({ level: phase === 'ends' ? 'info' : level, event, message, fields: said })
  }

  /** For example `ended after 12 min: account default: no answer in time (57 times, 500 zones)`. */
  #summary(nowMs: number, how?: string): string {
    const { about } = this.#latest
    const zones = this.#zones.size > 1 ? `, ${countPhrase(this.#zones.size, 'zone')}` : ''
    const times = countPhrase(this.#count, 'time')
    const duration = durationPhrase(nowMs - this.#beganAtMs)
    return how === undefined
      ? `${about} (${times} in ${duration}${zones})`
      : `${how} after ${duration}: ${about} (${times}${zones})`
  }
}
