import type { InternalEvent } from '../domain/internal-event.ts'
import type { Fields, LineLevel, Logger } from './logger.ts'
import { durationText } from '../domain/text/time.ts'

/** What an internal event says of a condition that lasts or is repeated. */
export interface Report {
  /** Reports of one event and group form one condition. Never built from text of the wire. */
  readonly group: string
  readonly level: LineLevel
  /** Who has the condition. A member has one condition of an event at a time. */
  readonly member: string
  readonly zone: number | undefined
  readonly message: string
  /** What the first line says besides the message. */
  readonly outlook: string
  readonly fields: Fields
  /** Fields of this report, on the first line only. */
  readonly details: Fields
  /** Somebody will report its end. */
  readonly hasEnd: boolean
  /** A member that sends no report for this time leaves the condition. Above a day only beginning and end are logged. */
  readonly lastsMs: number
}

export interface ConditionsDeps {
  /** Monotonic clock, ms. */
  readonly nowMs: () => number
  readonly tell: Logger['line']
}

type EventName = InternalEvent['name']

export const tenMinutesMs = 600_000
const tellEveryMs = 1000
/** A further beginning within ten minutes is counted, not logged. */
const mostBeginnings = 3
/** Beyond this, further groups of one event share a condition, so that input from outside cannot grow the map. */
const mostGroups = 200

/**
 * Condenses lasting or repeated reports into few lines: one at the beginning, one every ten minutes with a count, and
 * one when the last member (a stream, say) leaves. Uses no timer: later internal events drive it.
 */
export class Conditions {
  readonly #deps: ConditionsDeps
  /** By event and group. */
  readonly #all = new Map<EventName, Map<string, Condition>>()
  #toldDueAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: ConditionsDeps) {
    this.#deps = deps
  }

  report(event: EventName, report: Report): void {
    const groups = this.#all.get(event) ?? new Map<string, Condition>()
    this.#all.set(event, groups)
    const group = groups.has(report.group) || groups.size < mostGroups ? report.group : 'others'
    const condition = groups.get(group) ?? new Condition(event, this.#deps)
    groups.set(group, condition)
    condition.report(report)
    for (const other of groups.values())
      if (other !== condition) other.leaveIf((member) => member === report.member)
  }

  /** Removes a member from the condition, in whichever group it is; without one, ends all conditions of the event. */
  leave(event: EventName, member?: string): void {
    for (const condition of this.#all.get(event)?.values() ?? [])
      condition.leaveIf((each) => member === undefined || each === member)
  }

  stands(event: EventName, group: string): boolean {
    return this.#all.get(event)?.get(group)?.stands === true
  }

  /** Logs the lines that are due. Cheap; called for every internal event. */
  tellDue(): void {
    const nowMs = this.#deps.nowMs()
    if (nowMs - this.#toldDueAtMs < tellEveryMs) return
    this.#toldDueAtMs = nowMs
    for (const groups of this.#all.values())
      for (const [group, condition] of groups) {
        condition.leaveIf((_, untilMs) => untilMs <= nowMs, 'no longer reported')
        condition.tellDue()
        if (condition.isForgotten()) groups.delete(group)
      }
  }
}

type Phase = 'begins' | 'lasts' | 'ends'
const dayMs = 86_400_000

/** One cause, however many streams it affects. */
class Condition {
  readonly #event: EventName
  readonly #deps: ConditionsDeps
  /** The members, and until when each stays one without a further report. */
  readonly #members = new Map<string, number>()
  /** Every zone affected since it began. */
  readonly #zones = new Set<number>()
  #latest: Report | undefined
  #count = 0
  #untold = 0
  #toldAtMs = Number.NEGATIVE_INFINITY
  /** Times of the beginnings that were logged in the last ten minutes; the last one stays. */
  #beginnings: number[] = []
  /** Of the latest line. */
  #phase: Phase = 'ends'

  constructor(event: EventName, deps: ConditionsDeps) {
    this.#event = event
    this.#deps = deps
  }

  get stands(): boolean {
    return this.#members.size > 0
  }

  report(report: Report): void {
    const nowMs = this.#deps.nowMs()
    const begins = !this.stands && this.#begin(nowMs)
    const { zone, member, lastsMs } = report
    this.#latest = report
    this.#count++
    this.#untold++
    if (zone !== undefined) this.#zones.add(zone)
    this.#members.set(member, nowMs + lastsMs)
    if (begins) this.#say('begins', report.message + report.outlook)
  }

  leaveIf(isGone: (member: string, untilMs: number) => boolean, how = 'ended'): void {
    if (!this.stands) return
    for (const [member, untilMs] of this.#members) if (isGone(member, untilMs)) this.#members.delete(member)
    // If the latest line already reports the end, no further line is needed.
    const isTold = !this.#latest!.hasEnd || this.#phase === 'ends'
    if (!this.stands && !isTold) this.#say('ends', this.#summary(how))
  }

  tellDue(): void {
    const { hasEnd, lastsMs } = this.#latest!
    const isDue = this.#untold > 0 || (this.stands && hasEnd)
    if (lastsMs > dayMs || !isDue || !this.#isLongAgo(this.#toldAtMs)) return
    const how = !hasEnd ? undefined : this.stands ? 'still' : 'ended'
    this.#say(how === 'ended' ? 'ends' : 'lasts', this.#summary(how))
  }

  isForgotten(): boolean {
    const hasNothingToTell = this.#untold === 0 || this.#latest!.lastsMs > dayMs
    return !this.stands && hasNothingToTell && this.#isLongAgo(this.#toldAtMs)
  }

  /** Limits flapping. */
  #begin(nowMs: number): boolean {
    const recent = this.#beginnings.filter((atMs) => !this.#isLongAgo(atMs))
    if (recent.length >= mostBeginnings) return false
    this.#beginnings = [...recent, nowMs]
    this.#count = 0
    this.#zones.clear()
    return true
  }

  #say(phase: Phase, message: string): void {
    const { hasEnd, fields, details, level } = this.#latest!
    this.#toldAtMs = this.#deps.nowMs()
    this.#untold = 0
    this.#phase = phase
    this.#deps.tell(phase === 'ends' ? 'info' : level, this.#event, message, {
      ...(hasEnd && { phase }),
      ...fields,
      ...(phase === 'begins' && details),
      count: this.#count,
      ...(this.#zones.size > 1 && { zones: this.#zones.size }),
    })
  }

  /** For example `ended after 12 min (57 times, 500 zones), last: zone 101 → siem: no answer within 30 s`. */
  #summary(how?: string): string {
    const zones = this.#zones.size > 1 ? `, ${this.#zones.size} zones` : ''
    const times = this.#count === 1 ? '1 time' : `${this.#count} times`
    const duration = durationText((this.#deps.nowMs() - this.#beginnings.at(-1)!) / 1000)
    const counts =
      how === undefined ? `${times} in ${duration}${zones}` : `${how} after ${duration} (${times}${zones})`
    return `${counts}, last: ${this.#latest!.message}`
  }

  #isLongAgo(atMs: number): boolean {
    return this.#deps.nowMs() - atMs >= tenMinutesMs
  }
}
