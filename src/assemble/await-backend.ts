import { isFailure, type Failure } from '../domain/failure.ts'
import type { Backend } from './backend.ts'
import type { Runtime } from './runtime.ts'

const askAgainMs = 2_000

/**
 * Opens the backend, retrying until the server behind `state` answers: it may start later than this process or be away
 * for a while. Calls `waits` after each failed try. Throws Failure for errors that waiting does not fix.
 */
export async function awaitBackend(
  open: () => Promise<Backend>,
  waits: (failure: Failure) => Promise<void>,
  { clock, telemetry }: Runtime,
  signal: AbortSignal,
): Promise<Backend> {
  let isTold = false
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isFailure(error) || error.kind !== 'retry') throw error
      if (!isTold) telemetry.emit({ name: 'Warned', about: 'state', text: error.message })
      isTold = true
      await waits(error)
    }
    await clock.sleep(askAgainMs, signal)
  }
}
