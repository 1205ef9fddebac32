import type { InternalEvent } from '../domain/internal-event.ts'
import { Condition, type Report, type Told } from './condition.ts'

export interface ConditionsDeps {
  /** Monotonic clock, ms. */
  readonly nowMs: () => number
  readonly tell: (line: Told) => void
}

const turnEveryMs = 1000
/** Beyond this, further groups of one event share a condition, so that input from outside cannot grow the map. */
const mostGroups = 200

/**
 * Condenses lasting or repeated reports into few lines: one at the beginning, one every ten minutes with a count, and
 * one when the last member (a stream, say) leaves. Uses no timer: later internal events drive it.
 */
export class Conditions {
  readonly #deps: ConditionsDeps
  /** By event and group. */
  readonly #all = new Map<InternalEvent['name'], Map<string, Condition>>()
  #turnedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: ConditionsDeps) {
    this.#deps = deps
  }

  report(report: Report): void {
    const groups = this.#groupsOf(report.event)
    const group = groups.has(report.group) || groups.size < mostGroups ? report.group : 'others'
    const condition = groups.get(group) ?? new Condition(report, this.#deps.tell)
    groups.set(group, condition)
    const nowMs = this.#deps.nowMs()
    condition.report(report, nowMs)
    const { member = report.group } = report
    for (const other of groups.values()) if (other !== condition) other.leave(member, nowMs)
  }

  /** Removes a member from the condition, in whichever group it is. */
  leave(event: InternalEvent['name'], member: string): void {
    for (const condition of this.#groupsOf(event).values()) condition.leave(member, this.#deps.nowMs())
  }

  /** Ends the condition for all members; without a group, all conditions of the event. */
  end(event: InternalEvent['name'], group?: string): void {
    const nowMs = this.#deps.nowMs()
    for (const [name, condition] of this.#groupsOf(event)) {
      if ((group !== undefined && name !== group) || condition.holds(nowMs)) continue
      for (const member of condition.members.keys()) condition.leave(member, nowMs)
    }
  }

  stands(event: InternalEvent['name'], group: string): boolean {
    return (this.#groupsOf(event).get(group)?.members.size ?? 0) > 0
  }

  /** Removes members that left the configuration. */
  retain(isMember: (zone: number | undefined, sink: string | undefined) => boolean): void {
    for (const groups of this.#all.values())
      for (const condition of groups.values())
        for (const [member, { zone, sink }] of condition.members)
          if (!isMember(zone, sink)) condition.leave(member, this.#deps.nowMs())
  }

  /** Logs the lines that are due. Cheap; called for every internal event. */
  turn(): void {
    const nowMs = this.#deps.nowMs()
    if (nowMs - this.#turnedAtMs < turnEveryMs) return
    this.#turnedAtMs = nowMs
    for (const groups of this.#all.values())
      for (const [group, condition] of groups) {
        for (const [member, { untilMs }] of condition.members)
          if (untilMs <= nowMs) condition.leave(member, nowMs, 'no longer reported')
        condition.turn(nowMs)
        if (condition.isForgotten(nowMs)) groups.delete(group)
      }
  }

  #groupsOf(event: InternalEvent['name']): Map<string, Condition> {
    let groups = this.#all.get(event)
    if (groups === undefined) {
      groups = new Map()
      this.#all.set(event, groups)
    }
    return groups
  }
}
