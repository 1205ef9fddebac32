import { Option, type Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import { fetchToStdout } from '../assemble/look.ts'
import { formatNames } from '../config/fields/fields.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { Day } from '../domain/day.ts'
import { isFailure } from '../domain/failure.ts'
import { atLeastOne, collectNames, dayArgument, chooseSinks, chooseZones } from './options.ts'
import { exitCodes, type Registration } from './command.ts'
import { example } from './program-name.ts'
import { counted } from '../domain/text/counts.ts'
import type { FormatName } from '../formats/registry.ts'

interface FetchOptions {
  readonly zone: string[]
  readonly day: Day
  readonly format: FormatName
  readonly sink?: string
  readonly limit?: number
}

const mostTold = 5

export function register({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name; repeatable, takes comma lists', collectNames)
    .requiredOption('--day <day>', 'YYYY-MM-DD in UTC, today or yesterday', dayArgument)
    .addOption(new Option('--format <format>', 'format of a line').choices(formatNames).default('native'))
    .addOption(
      new Option(
        '--sink <sink>',
        'as this sink would get them: redacted, filtered by its where and sample, in its format',
      ).conflicts('format'),
    )
    .option('--limit <number>', 'stop after this number of events', atLeastOne)
    .addHelpText('after', example('fetch --zone 101 --day today --limit 10'))
    .action(async (options: FetchOptions, command: Command) => {
      const { zone, day, sink, limit = Infinity } = options
      await using work = await openWork(load(command, 'events').config, { zones: 'listed' }, io.signal)
      const { config } = work
      const form = sink === undefined ? { format: options.format } : chooseSinks(config, [sink])[0]!
      const zones = chooseZones(config, zone)
      try {
        const refusals = await fetchToStdout(work, { zones, day, form, limit }, io.signal)
        for (const { event, answer } of refusals.slice(0, mostTold))
          io.stderr.write(
            `event ${printable(event.id, 200)} has no ${form.format} format: ${printable(answer)}\n`,
          )
        if (refusals.length > mostTold)
          io.stderr.write(`and ${counted(refusals.length - mostTold, 'more event')} without the format\n`)
        if (refusals.length > 0) exit(exitCodes.failed)
      } catch (error) {
        // The reader closed the pipe: not an error.
        if (!isFailure(error, 'sink_gone')) throw error
      }
    })
}
