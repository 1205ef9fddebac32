import { systemClock } from '../../clock.ts'
import { loadServerAddress } from '../../config/load/server-address.ts'
import { Failure } from '../../domain/failure.ts'
import { healthUrl, probeHealth } from '../../server/probe.ts'

/** Asks the liveness probe of the configured server. Returns its URL; throws Failure and ConfigErrors. */
export async function askHealth(config: string | undefined, signal: AbortSignal): Promise<string> {
  const address = loadServerAddress(config)
  if (address.port === 0)
    throw new Failure('stop', 'rejected', 'server.port is 0, so the port of the running process is not known')
  const url = healthUrl(address)
  await probeHealth(url, systemClock, signal)
  return url
}
