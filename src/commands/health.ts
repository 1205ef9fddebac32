import type { Command } from 'commander'
import { askHealth } from '../assemble/tasks/health.ts'
import { ConfigErrors } from '../config/schema/config-errors.ts'
import { Failure } from '../domain/failure.ts'
import { example } from './program-name.ts'
import type { Registration } from './registration.ts'

export function registerHealth({ command, io }: Registration): void {
  command
    .addHelpText('after', example('health -c /etc/shieldlog/shieldlog.yaml'))
    .action(async (_: unknown, command: Command) => {
      const { config } = command.optsWithGlobals<{ config?: string }>()
      io.stdout.write(`${await asked(config, io.signal)} answers 200\n`)
    })
}

/** An unreadable configuration is an unhealthy process to a probe: one line and exit code 1. */
async function asked(config: string | undefined, signal: AbortSignal): Promise<string> {
  try {
    return await askHealth(config, signal)
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    throw new Failure('stop', 'rejected', error.message.replaceAll(/\s*\n\s*/g, ' '))
  }
}
