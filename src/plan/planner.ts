import type { Checkpoint } from '../domain/checkpoint.ts'
import { endOf, shiftDay, startOf, type Day } from '../domain/day.ts'
import type { ReadRequest } from '../domain/read-request.ts'
import type { Gap, GapReason } from '../domain/gap.ts'
import type { Route } from '../domain/route.ts'
import { firstPlannedDay, missedDays, routeKey, plan, type PlannedStream } from '../domain/plan/plan.ts'
import type { Backfill } from '../domain/plan/backfill.ts'
import type { Policy } from '../domain/plan/policy.ts'
import { todayOf } from '../domain/plan/stream-state.ts'
import type { Zone } from '../domain/stream.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { ApiClock } from '../pump/api-clock.ts'

/** The part of the configuration that decides which streams there are; read anew at each plan. */
export interface PlanSettings {
  readonly zones: readonly Zone[]
  readonly sinks: readonly string[]
  readonly policy: Policy
}

interface PlannerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly telemetry: Telemetry
  readonly settings: () => PlanSettings
}

/** How often the planner stores again that the configured routes are planned. */
const rememberEveryMs = 60_000
/** A route that was planned this recently counts as planned without a break. */
const leftAloneMs = 600_000

/** Lists what is due, and stores which routes are planned. */
export class Planner {
  readonly #deps: PlannerDeps
  #rememberedAtMs = -Infinity
  #remembered = ''

  constructor(deps: PlannerDeps) {
    this.#deps = deps
  }

  /** All planned streams, the most urgent first. Only reads. */
  async plan(readRequest?: ReadRequest): Promise<PlannedStream[]> {
    const { store, apiClock } = this.#deps
    const now = this.#deps.settings()
    const [checkpoints, routes, backfills] = await Promise.all([
      store.catalogue.checkpoints(),
      store.catalogue.routes(),
      store.backfills.list(),
    ])
    this.#setClocks(checkpoints, now.zones)
    const resendCheckpoints = await resendsOf(store, backfills)
    const input = { nowOf: apiClock.now, ...now, checkpoints, resendCheckpoints, routes, backfills }
    return plan(readRequest === undefined ? input : { ...input, readRequest })
  }

  /**
   * Stores which routes are planned, and records the days that passed unread as gaps. Only the process that runs the
   * schedule calls it, before each plan.
   *
   * Only routes of accounts with a confirmed API time: the first planned day is never changed, so a wrong clock would
   * hide days forever.
   */
  async remember(): Promise<void> {
    const { store, clock, apiClock } = this.#deps
    const { zones, sinks, policy } = this.#deps.settings()
    const sure = zones.filter(({ account }) => apiClock.isConfirmed(account))
    const keys = sure.flatMap(({ id }) => sinks.map((sink) => routeKey(id, sink))).join()
    if (keys === this.#remembered && clock.monotonic() - this.#rememberedAtMs < rememberEveryMs) return
    const known = await store.catalogue.routes()
    const byKey = new Map(known.map((route) => [routeKey(route.zone, route.sink), route]))
    const next: Route[] = []
    for (const { id, account } of sure) {
      const nowMs = apiClock.now(account)
      for (const sink of sinks) {
        const before = byKey.get(routeKey(id, sink))
        if (before === undefined) this.#tellSkippedDays(id, sink, nowMs, policy)
        const firstDay = before?.firstDay ?? firstPlannedDay(nowMs, policy)
        next.push({ zone: id, sink, firstDay, plannedAtMs: nowMs })
      }
    }
    // Before the routes are stored: missed days count from the instant at which a route was planned last.
    await this.#recordMissedDays(next, byKey, policy)
    await store.catalogue.rememberRoutes(next)
    this.#remembered = keys
    this.#rememberedAtMs = clock.monotonic()
  }

  #tellSkippedDays(zone: number, sink: string, nowMs: number, policy: Policy): void {
    if (policy.firstRunDays >= policy.readableDays) return
    const today = todayOf(nowMs)
    const from = shiftDay(today, 1 - policy.readableDays)
    const to = shiftDay(today, -policy.firstRunDays)
    this.#deps.telemetry.emit({ name: 'DaysSkipped', zone, sink, from, to })
  }

  async #recordMissedDays(
    planned: readonly Route[],
    known: ReadonlyMap<string, Route>,
    policy: Policy,
  ): Promise<void> {
    const { store, telemetry } = this.#deps
    const before = planned.flatMap(({ zone, sink, plannedAtMs }) => {
      const route = known.get(routeKey(zone, sink))
      return route === undefined || missedDays(route, [], plannedAtMs, policy).length === 0
        ? []
        : [{ route, nowMs: plannedAtMs }]
    })
    if (before.length === 0) return
    const checkpoints = await store.catalogue.checkpoints()
    for (const { route, nowMs } of before) {
      const { zone, sink } = route
      const held = checkpoints.filter(({ stream }) => stream.zone === zone && stream.sink === sink)
      const gaps = missedDays(route, held, nowMs, policy).map((day): Gap => {
        const reason = reasonOf(route, [...known.values()], day, nowMs)
        return { zone, sink, day, from: startOf(day), to: endOf(day), reason, recordedAt: nowMs }
      })
      await store.catalogue.addGaps(gaps)
      for (const gap of gaps) telemetry.emit({ name: 'GapFound', gap })
    }
  }

  /** After a restart the latest commit in the store is a lower bound of the API's time. */
  #setClocks(checkpoints: readonly Checkpoint[], zones: readonly Zone[]): void {
    const { apiClock } = this.#deps
    const accounts = new Map(zones.map(({ id, account }) => [id, account]))
    for (const { stream, lastCommitAtMs } of checkpoints) {
      const account = accounts.get(stream.zone)
      if (account !== undefined && !apiClock.isConfirmed(account)) apiClock.notBefore(account, lastCommitAtMs)
    }
  }
}

/** Checkpoints of temporary streams, where a plan needs any. */
export async function resendsOf(store: Store, backfills: readonly Backfill[]): Promise<Checkpoint[]> {
  const isNeeded = backfills.some(({ resend, state }) => resend === true && state === 'running')
  return isNeeded ? store.catalogue.resendCheckpoints() : []
}

/** Why a day has no checkpoint: no process ran, only other routes were planned meanwhile, or no pump reached it. */
function reasonOf(route: Route, known: readonly Route[], day: Day, nowMs: number): GapReason {
  if (nowMs - route.plannedAtMs < leftAloneMs) return 'unreadable'
  const aloneFromMs = Math.max(startOf(day), route.plannedAtMs + leftAloneMs)
  return known.some((other) => other.plannedAtMs > aloneFromMs) ? 'not_configured' : 'not_running'
}
