import { isGrave, openGaps } from '../../domain/status/problems.ts'
import type { RouteStatus, Status } from '../../domain/status/status.ts'
import { exitCodes } from '../io.ts'

/** The state of a route in a word or two. A route that nothing works on is not up to date for long. */
export function standingText({ state }: Pick<RouteStatus, 'state'>, isStopped: boolean): string {
  if (state === 'failing') return 'FAILING'
  if (isStopped) return 'stopped'
  if (state === 'not_read') return 'not read yet'
  return state === 'behind' ? 'behind' : 'up to date'
}

export function isWell(route: RouteStatus, isStopped: boolean): boolean {
  return !isStopped && route.state === 'up_to_date' && openGaps(route.gaps).length === 0
}

/** 1 for lost days that nobody has acknowledged, a route that fails, and where nothing ships: for monitors. */
export function statusExitCode({ problems }: Pick<Status, 'problems'>): number {
  return problems.some(isGrave) ? exitCodes.failed : exitCodes.done
}
