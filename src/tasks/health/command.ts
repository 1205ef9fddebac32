import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import { loadServerAddress } from '../../config/load.ts'
import type { ServerAddress } from '../../config/schema.ts'
import { probeHealth } from '../../server/listen.ts'
import { ConfigErrors } from '../../config/errors.ts'
import { Failure } from '../../domain/failure.ts'
import type { Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'

export function register({ command, io }: Registration): void {
  command
    .addHelpText('after', example('health -c /etc/shieldlog/shieldlog.yaml'))
    .action(async (_: unknown, command: Command) => {
      const { config } = command.optsWithGlobals<{ config?: string }>()
      const url = await probeHealth(addressIn(config), systemClock, io.signal)
      io.stdout.write(`${url} answers 200\n`)
    })
}

/** An unreadable configuration is an unhealthy process to a probe: one line and exit code 1. */
function addressIn(config: string | undefined): ServerAddress {
  try {
    const address = loadServerAddress(config)
    if (address.port > 0) return address
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    throw new Failure('stop', 'rejected', error.message.replaceAll(/\s*\n\s*/g, ' '))
  }
  throw new Failure('stop', 'rejected', 'server.port is 0, so the port of the running process is not known')
}
