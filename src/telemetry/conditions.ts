import type { InternalEvent } from '../domain/internal-event.ts'
import { Condition, type Report, type Told } from './condition.ts'

export interface ConditionsDeps {
  /** By the clock that never jumps, ms. */
  readonly nowMs: () => number
  readonly tell: (line: Told) => void
}

const turnEveryMs = 1000
/** Above it further groups of one event share a condition, so that nothing from outside makes this grow. */
const mostGroups = 200

/**
 * What lasts or repeats is told in few lines: when it begins, every ten minutes with a count, and when its last member
 * (a stream, say) has left it. No timer: whatever happens next in the process drives it.
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

  /** A member has the condition no longer, of whichever group. */
  leave(event: InternalEvent['name'], member: string): void {
    for (const condition of this.#groupsOf(event).values()) condition.leave(member, this.#deps.nowMs())
  }

  /** It is over for all. */
  end(event: InternalEvent['name'], group: string): void {
    const condition = this.#groupsOf(event).get(group)
    const nowMs = this.#deps.nowMs()
    if (condition === undefined || condition.holds(nowMs)) return
    for (const member of condition.members.keys()) condition.leave(member, nowMs)
  }

  stands(event: InternalEvent['name'], group: string): boolean {
    return (this.#groupsOf(event).get(group)?.members.size ?? 0) > 0
  }

  /** Drops members that left the configuration. */
  retain(isMember: (zone: number | undefined, sink: string | undefined) => boolean): void {
    for (const groups of this.#all.values())
      for (const condition of groups.values())
        for (const [member, { zone, sink }] of condition.members)
          if (!isMember(zone, sink)) condition.leave(member, this.#deps.nowMs())
  }

  /** Tells what is due. Cheap; to be called on everything that happens. */
  turn(): void {
    const nowMs = this.#deps.nowMs()
    if (nowMs - this.#turnedAtMs < turnEveryMs) return
    this.#turnedAtMs = nowMs
    for (const groups of this.#all.values())
      for (const [group, condition] of groups) {
        for (const [member, { untilMs }] of condition.members)
          if (untilMs <= nowMs) condition.leave(member, nowMs, 'not reported any more')
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
