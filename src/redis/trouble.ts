import { Failure, isFailure, messageOf } from '../domain/failure.ts'

/** What a server answers while it takes no writes. */
const refusals = /^(?:OOM|READONLY|MISCONF|NOREPLICAS|NOAUTH|NOPERM|WRONGPASS|-?ERR max number of clients)/
const absences =
  /ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|CLUSTERDOWN|LOADING|MASTERDOWN|UNBLOCKED|Connection is closed|Command timed out|max retries per request|Stream isn't writeable|sentinels|slots cache|socket/i

/**
 * An error of Redis as a Failure: `store_refuses` (stop) while it takes no writes, `store_unavailable` (retry) while it
 * cannot be reached. Anything else is a bug and comes back as it is.
 */
export function redisFailure(error: unknown): unknown {
  if (isFailure(error)) return error
  const text = messageOf(error)
  const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : ''
  if (refusals.test(text))
    return new Failure('stop', 'store_refuses', `Redis refuses: ${text}${cause}`, { cause: error })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (absences.test(`${code} ${text}`))
    return new Failure('retry', 'store_unavailable', `Redis cannot be reached: ${text || code}${cause}`, {
      cause: error,
    })
  return error
}
