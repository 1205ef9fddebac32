import type { InternalEvent } from '../domain/internal-event.ts'
import type { Fields, LineLevel, Logger } from './logger.ts'
import { counted } from '../domain/text/terminal-text.ts'
import { durationText } from '../domain/text/time.ts'

/** What an internal event says of a condition that lasts or is repeated. */
export interface Report {
  readonly event: InternalEvent['name']
  /** Reports of one event and group form one condition. Never built from text of the wire. */
  readonly group: string
  readonly level: LineLevel
  /** Who has the condition. A member has one condition of an event at a time. */
  readonly member: string
  readonly zone: number | undefined
  readonly message: string
  readonly fields: Fields
  /** Somebody will report its end. */
  readonly hasEnd: boolean
  /** A member that sends no report for this time leaves the condition. Above a day only beginning and end are logged. */
  readonly lastsMs: number
}

/** One cause, however many streams it affects. */
interface Condition {
  latest: Report
  /** The members, and until when each stays one without a further report. */
  readonly members: Map<string, number>
  /** Every zone affected since it began, and how many of them lines have named. */
  readonly zones: Set<number>
  named: number
  count: number
  untold: number
  beganAtMs: number
  beginnings: number
  /** The latest line, and when it was written. */
  told: 'begins' | 'lasts' | 'ends'
  toldAtMs: number
}

export const tenMinutesMs = 600_000
const dayMs = 86_400_000
const tellEveryMs = 1000
/** What is repeated and has no end, such as gaps, comes in a burst: its zones are named soon. */
const burstMs = 10_000
/** More would make a line that log drivers cut in two. */
const mostNamed = 1000
/** A further beginning is counted, not logged, until ten minutes pass without one. */
const mostBeginnings = 3
/** Beyond this, further groups of one event share a condition, so that input from outside cannot grow the map. */
const mostGroups = 200

/**
 * Condenses lasting or repeated reports into few lines: one at the beginning, one every ten minutes with a count, and
 * one when the last member (a stream, say) leaves. These name every zone that was affected. Uses no timer: later internal
 * events drive it. `nowMs`: a monotonic clock.
 */
export function createConditions(nowMs: () => number, tell: Logger['line']) {
  /** By event and group. */
  const all = new Map<string, Condition>()
  const of = (event: Report['event']) => [...all.values()].filter(({ latest }) => latest.event === event)
  let toldDueAtMs = -Infinity

  function say(condition: Condition, told: Condition['told']): void {
    const { latest, count, zones } = condition
    const message = told === 'begins' ? latest.message : summaryOf(condition, told)
    Object.assign(condition, { told, toldAtMs: nowMs(), untold: 0, named: zones.size })
    const fields = { ...(latest.hasEnd && { phase: told }), ...latest.fields, count }
    const level = told === 'ends' ? 'info' : latest.level
    if (zones.size < 2) return tell(level, latest.event, message, fields)
    const ids = [...zones].sort((one, other) => one - other)
    for (let at = 0; at < ids.length; at += mostNamed)
      tell(level, latest.event, message, {
        ...fields,
        zones: zones.size,
        zoneIds: ids.slice(at, at + mostNamed),
      })
  }

  /** For example `ended after 12 min (57 times, 500 zones), last: zone 101 → siem: no answer within 30 s`. */
  function summaryOf({ zones, count, beganAtMs, latest }: Condition, told: 'lasts' | 'ends'): string {
    const affected = zones.size > 1 ? `, ${zones.size} zones` : ''
    const times = counted(count, 'time')
    const duration = durationText((nowMs() - beganAtMs) / 1000)
    const took = (word: string) => (duration === '0 s' ? '' : ` ${word} ${duration}`)
    if (!latest.hasEnd) return `${times}${took('in')}${affected}, last: ${latest.message}`
    return `${told === 'ends' ? 'ended' : 'still'}${took('after')} (${times}${affected}), last: ${latest.message}`
  }

  function removeMembers(condition: Condition, isGone: (member: string, untilMs: number) => boolean): void {
    const { members, latest, told } = condition
    if (members.size === 0) return
    for (const [member, untilMs] of members) if (isGone(member, untilMs)) members.delete(member)
    // If the latest line already reports the end, no further line is needed.
    if (members.size === 0 && latest.hasEnd && told !== 'ends') say(condition, 'ends')
  }

  /** Logs the line that is due. Returns whether the condition can be forgotten. */
  function tellDue(condition: Condition): boolean {
    removeMembers(condition, (_, untilMs) => untilMs <= nowMs())
    const { latest, members, untold, toldAtMs, told } = condition
    const isBurst = !latest.hasEnd && told === 'begins' && isUnnamed(condition)
    if (nowMs() - toldAtMs < (isBurst ? burstMs : tenMinutesMs)) return false
    const stands = members.size > 0
    const hasNews = untold > 0 || (stands && latest.hasEnd)
    if (latest.lastsMs > dayMs || !hasNews) return !stands
    say(condition, latest.hasEnd && !stands ? 'ends' : 'lasts')
    return false
  }

  /** Whether there are zones that no line has named. */
  const isUnnamed = ({ zones, named }: Condition) => zones.size > named

  return {
    report(report: Report): void {
      const { event, zone, member } = report
      const key = `${event} ${report.group}`
      const group = all.has(key) || of(event).length < mostGroups ? key : `${event} others`
      const condition = all.get(group) ?? newCondition(report)
      all.set(group, condition)
      const begins = condition.members.size === 0 && condition.beginnings++ < mostBeginnings
      if (begins) {
        Object.assign(condition, { count: 0, beganAtMs: nowMs() })
        condition.zones.clear()
      }
      condition.latest = report
      condition.count++
      condition.untold++
      if (zone !== undefined) condition.zones.add(zone)
      condition.members.set(member, nowMs() + report.lastsMs)
      if (begins) say(condition, 'begins')
      for (const other of of(event)) if (other !== condition) removeMembers(other, (each) => each === member)
    },
    /** Removes a member from the conditions of an event; without one, ends all of them. */
    leave(event: Report['event'], member?: string): void {
      for (const condition of of(event))
        removeMembers(condition, (each) => member === undefined || each === member)
    },
    /** Names the zones that no line has named yet: this process writes no more. */
    close(): void {
      for (const condition of all.values())
        if (isUnnamed(condition) && condition.latest.lastsMs <= dayMs) say(condition, 'lasts')
    },
    stands: (event: Report['event'], group: string) => (all.get(`${event} ${group}`)?.members.size ?? 0) > 0,
    /** Logs the lines that are due. Cheap; called for every internal event. */
    tellDue(): void {
      if (nowMs() - toldDueAtMs < tellEveryMs) return
      toldDueAtMs = nowMs()
      for (const [key, condition] of all) if (tellDue(condition)) all.delete(key)
    },
  }
}

function newCondition(latest: Report): Condition {
  const counts = { count: 0, untold: 0, beginnings: 0, beganAtMs: 0, toldAtMs: -Infinity, named: 0 }
  return { latest, members: new Map(), zones: new Set(), told: 'ends', ...counts }
}
