import { Option, type Command } from 'commander'
import { readDepsOf } from '../../assemble/api-reading.ts'
import type { Work } from '../../assemble/work.ts'
import { formatNames } from '../../fields/fields.ts'
import type { SinkConfig } from '../../config/schema.ts'
import { dayOf, firstReadable, type Day } from '../../domain/day.ts'
import type { Refusal } from '../../domain/event/delivery.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { counted, printable } from '../../domain/text/terminal-text.ts'
import { createFormat, type FormatName } from '../../formats/registry.ts'
import { freshEvents } from '../../days/read-day.ts'
import { createStdoutSink } from '../../sinks/stdout/sink.ts'
import { wantsOf } from '../../sinks/wants.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { atLeastOne, collectNames, dayArgument, dayForms, chooseSinks, chooseZones } from '../options.ts'

interface FetchOptions {
  readonly zone: string[]
  readonly day: Day
  readonly format: FormatName
  readonly sink?: string
  readonly limit?: number
}

const mostTold = 5

export function register({ command, io, exit, open }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name; repeatable, takes comma lists', collectNames)
    .requiredOption('--day <day>', dayForms, dayArgument)
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
      await using work = await open(command, 'events', { zones: 'listed' })
      const { config, runtime } = work
      const form = sink === undefined ? { format: options.format } : chooseSinks(config, [sink])[0]!
      try {
        const refusals = await print(work, chooseZones(config, zone), { day, form, limit }, io.signal)
        for (const { event, answer } of refusals.slice(0, mostTold))
          io.stderr.write(
            `event ${printable(event.id, 200)} has no ${form.format} format: ${printable(answer)}\n`,
          )
        if (refusals.length > mostTold)
          io.stderr.write(`and ${counted(refusals.length - mostTold, 'more event')} without the format\n`)
        exit(exitCodeOf(refusals))
      } catch (error) {
        // The reader closed the pipe: not an error.
        if (isFailure(error, 'sink_gone')) return
        if (!isFailure(error, 'window_closed')) throw error
        const today = dayOf(error.details.serverDate ?? runtime.clock.now())
        const window = `the API answers for ${firstReadable(today, config.poll.readableDays)} to ${today} (UTC)`
        const text = `${day} cannot be read: ${window}. ${error.message}`
        throw new Failure('refuse', 'window_closed', text, { ...error.details, cause: error })
      }
    })
}

/** 1 where an event has no form in the format. */
function exitCodeOf(refusals: readonly Refusal[]): number {
  return refusals.length > 0 ? exitCodes.failed : exitCodes.done
}

interface Chosen {
  readonly day: Day
  /** Which events are printed, and in which form: as a sink gets them. */
  readonly form: Pick<SinkConfig, 'format' | 'include' | 'set' | 'where' | 'sample'>
  /** Of all zones together. */
  readonly limit: number
}

/** Prints events of a day to stdout, each once, without state. Returns those without a form in the format. Throws Failure. */
async function print(
  work: Work,
  zones: readonly Zone[],
  { day, form, limit }: Chosen,
  signal: AbortSignal,
): Promise<readonly Refusal[]> {
  const output = { ...work.runtime, format: createFormat(form), output: process.stdout }
  const sink = createStdoutSink({ name: 'stdout' }, output)
  const wants = wantsOf(form) ?? (() => true)
  const deps = readDepsOf(work)
  const refusals: Refusal[] = []
  let left = limit
  try {
    const open = await sink.open({ zone: zones[0]?.id ?? 0, day, sink: sink.name }, {}, signal)
    for (const zone of zones)
      for await (const fresh of freshEvents({ zone, day }, deps, signal)) {
        const events = fresh.filter(wants).slice(0, left)
        refusals.push(...(await open.deliver(events, signal)).refusals)
        left -= events.length
        if (left <= 0) return refusals
      }
    return refusals
  } finally {
    await sink.close()
  }
}
