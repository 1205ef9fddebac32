import type { RouteTrouble } from './observed-route.ts'
import type { ErrorStatus } from '../domain/status/status.ts'
import { iso } from '../domain/text/time.ts'

/** Why a stream makes no progress, as `status` shows it. */
export function errorStatus({ code, message, count, sinceMs, retryAtMs }: RouteTrouble): ErrorStatus {
  return { code, message, failures: count, since: iso(sinceMs), retryAt: iso(retryAtMs) }
}
