import { cancelled } from '../domain/failure.ts'

/** The promise's own outcome, or a `cancelled` Failure as soon as the signal aborts; the work itself goes on. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    work.catch(() => {})
    throw cancelled(signal.reason)
  }
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(cancelled(signal.reason))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
