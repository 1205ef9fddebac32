import type { Command } from 'commander'
import { createMessenger } from '../../notify/post.ts'
import { systemClock } from '../../clock.ts'
import { version } from '../../assemble/version.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'

export function register({ command: notify, io, exit, load }: Registration): void {
  notify.addHelpText('after', example('notify test'))
  notify
    .command('test')
    .description('send a message to each place of notify, and request the heartbeat')
    .addHelpText('after', example('notify test'))
    .action(async (_: unknown, command: Command) => {
      const { config } = load(command, 'notices')
      const messenger = createMessenger(systemClock, version)
      const text = 'This is a test of shieldlog notify. Nothing is wrong.'
      const notice = { key: 'test', text, remedy: '', sinceMs: systemClock.now() }
      let failures = 0
      const tried = async (what: string, work: () => Promise<void>) => {
        try {
          await work()
          io.stdout.write(`${what}  ok\n`)
        } catch (error) {
          if (!isFailure(error) || error.kind === 'cancelled') throw error
          io.stdout.write(`${what}  FAIL  ${printable(messageOf(error))}\n`)
          failures++
        }
      }
      try {
        for (const place of config.notify)
          await tried(place.name, async () => {
            // What is told begins and ends, so that no incident stays open.
            for (const status of ['begins', 'over'] as const)
              await messenger.tell(place, { ...notice, status }, 'test', io.signal)
          })
        const { heartbeat } = config
        if (heartbeat !== undefined)
          await tried('heartbeat', () => messenger.beat(heartbeat.url, [], io.signal))
        const isSet = config.notify.length > 0 || heartbeat !== undefined
        if (!isSet) io.stderr.write('Nobody is told of anything: set notify or heartbeat.url.\n')
        exit(exitCodeOf(isSet, failures))
      } finally {
        await messenger.close()
      }
    })
}

function exitCodeOf(isSet: boolean, failures: number): number {
  return isSet && failures === 0 ? exitCodes.done : exitCodes.failed
}
