import type { RouteStatus, Status, WorkerStatus } from '../../domain/status/status.ts'
import { exitCodes } from '../io.ts'

/** Why events are not shipped at all; undefined where they are. */
export function stoppedReason({ workers }: Pick<Status, 'workers'>): string | undefined {
  if (workers.length === 0) return 'no shieldlog process runs on this state.'
  if (workers.every(isScheduler)) return 'only a scheduler runs on this state, and no worker.'
  if (workers.every(({ role }) => role === 'worker'))
    return 'only workers run on this state, and no scheduler.'
  return undefined
}

function isScheduler({ role }: WorkerStatus): boolean {
  return role === 'scheduler'
}

/** The state of a route in a word or two. A route that nothing works on is not up to date for long. */
export function standingText({ state }: Pick<RouteStatus, 'state'>, isStopped: boolean): string {
  if (state === 'failing') return 'FAILING'
  if (isStopped) return 'stopped'
  if (state === 'not_read') return 'not read yet'
  return state === 'behind' ? 'behind' : 'up to date'
}

export function isWell(route: RouteStatus, isStopped: boolean): boolean {
  return !isStopped && route.state === 'up_to_date' && route.gaps.length === 0
}

/** Not 0 when a route fails or nothing ships, so that a monitor can use the command as it is. */
export function statusExitCode(status: Pick<Status, 'workers' | 'routes'>): number {
  const isWhole =
    stoppedReason(status) === undefined && status.routes.every(({ state }) => state !== 'failing')
  return isWhole ? exitCodes.done : exitCodes.failed
}
