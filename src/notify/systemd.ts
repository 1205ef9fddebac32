import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Clock } from '../ports/process.ts'

/** The part of the environment that systemd sets for a service of type `notify`. */
export type SystemdEnvironment = Readonly<Partial<Record<'NOTIFY_SOCKET' | 'WATCHDOG_USEC', string>>>

/**
 * Tells systemd that the process is ready, and as long as it is healthy that it lives, until the signal aborts; systemd
 * restarts a service that stays silent. Does nothing elsewhere. Never rejects: without `systemd-notify` on PATH a
 * service of type `notify` does not start, and systemd says so.
 */
export async function keepSystemdInformed(
  { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog }: SystemdEnvironment,
  { clock, isHealthy }: { readonly clock: Clock; readonly isHealthy: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  if (socket === undefined) return
  await tell('READY=1')
  const everyMs = Number(watchdog) / 1000 / 3
  if (!(everyMs > 0)) return
  while (!signal.aborted) {
    if (isHealthy()) await tell('WATCHDOG=1')
    await clock.sleep(everyMs, signal).catch(() => undefined)
  }
}

/** Node has no datagram sockets of Unix; the program of systemd has. */
async function tell(state: string): Promise<void> {
  const child = spawn('systemd-notify', [state], { stdio: 'ignore' })
  await once(child, 'close').catch(() => undefined)
}
