import type { Command } from 'commander'
import { printable } from '../domain/text/terminal-text.ts'
import { acceptNewSink, renameSinkInStore } from '../assemble/sink-names.ts'
import { sinkNameArgument, chooseSinks, unknownName } from './options.ts'
import { exitCodes, UsageError, type Registration } from './command.ts'
import { counted } from '../domain/text/counts.ts'
import { wrapped } from './terminal/text.ts'
import { example } from './program-name.ts'

export function register({ command: state, io, exit, load }: Registration): void {
  state.addHelpText('after', example('state rename-sink archive main'))
  state
    .command('rename-sink')
    .description("move a sink's checkpoints, gaps and dead letters to another name")
    .argument('<old>', 'present name')
    .argument('<new>', 'new name, never used before', sinkNameArgument)
    .addHelpText('after', example('state rename-sink siem splunk'))
    .action(async (from: string, to: string, _: unknown, command: Command) => {
      if (from === to)
        throw new UsageError(
          `the present name and the new name are both ${printable(from)}; use another new name`,
        )
      const { config } = load(command, 'state')
      const renamed = await renameSinkInStore(config, from, to, io.signal)
      if (renamed.outcome === 'unknown')
        throw unknownName({ option: 'sink', name: from, what: 'is not in the store', known: renamed.known })
      const { streams } = renamed
      io.stdout.write(`${counted(streams, 'stream')} moved from ${from} to ${to}\n`)
      const names = config.sinks.map(({ name }) => name)
      if (!names.includes(to))
        io.stderr.write(
          `change the name of the sink to ${to} in the configuration too, before the next run\n`,
        )
    })
  state
    .command('new-sink')
    .description('say that a held sink is a new one, to which everything shall be shipped')
    .argument('<name>', 'as in the configuration')
    .addHelpText('after', example('state new-sink splunk'))
    .action(async (name: string, _: unknown, command: Command) => {
      const { config } = load(command, 'state')
      const why = (await acceptNewSink(config, chooseSinks(config, [name])[0]!, io.signal)).get(name)
      if (why === undefined) {
        io.stdout.write(`${name} is a new sink: all days that the API lists are shipped to it\n`)
        return
      }
      io.stderr.write(wrapped(`sink ${name}: ${printable(why, 1_000)}\n`, io.stderr))
      exit(exitCodes.failed)
    })
}
