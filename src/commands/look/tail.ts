import { Option, type Command } from 'commander'
import { withListedZones } from '../../assemble/zones-for-commands.ts'
import { lineOf, tailEvents, wantedBy } from '../../assemble/look.ts'
import type { Config } from '../../config/schema/schema.ts'
import { unknownWord } from '../../domain/event/known-words.ts'
import type { Event } from '../../domain/event/event.ts'
import { inertJson } from '../../domain/text/json-text.ts'
import { printable } from '../../domain/text/printable.ts'
import type { Zone } from '../../domain/stream.ts'
import { collectNames } from '../arguments.ts'
import type { Io } from '../io.ts'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { chooseSinks, chooseZones } from '../selection.ts'
import { wrapped } from '../terminal/wrapped.ts'
import { paintFor } from '../terminal/terminal.ts'
import { widestOf } from '../../domain/text/text-width.ts'
import { tailLine } from './tail-line.ts'

interface TailOptions {
  readonly zone?: string[]
  readonly action?: string[]
  readonly sink?: string
  readonly json?: boolean
}

/** Events that existed before and are shown first, as by tail(1). */
const shownBefore = 10
const widestZone = 12

export function registerTail({ command, io, load }: Registration): void {
  command
    .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
    .option('--action <action>', 'only with this action; repeatable, takes comma lists', collectNames)
    .addOption(
      new Option(
        '--sink <sink>',
        'as this sink would get them: filtered by its where and sample, in its format',
      ).conflicts('json'),
    )
    .option('--json', 'in native format, a JSON object a line')
    .addHelpText('after', example('tail --zone shop --action Blocked'))
    .action(async (options: TailOptions, command: Command) => {
      const { config } = await withListedZones(load(command, 'events'), io.signal)
      const zones = chooseZones(config, options.zone)
      for (const action of options.action ?? []) {
        const why = unknownWord('actions', action)
        if (why !== undefined)
          io.stderr.write(wrapped(`note: --action ${printable(action)} ${why}\n`, io.stderr))
      }
      const end = new AbortController()
      const signal = AbortSignal.any([io.signal, end.signal])
      const lineFor = lineMaker(config, zones, options, io)
      const request = {
        zones,
        wants: wantsOf(config, options),
        before: shownBefore,
        show(events: readonly Event[]) {
          for (const event of events) io.stdout.write(`${lineFor(event)}\n`)
          // The reader closed the pipe: not an error.
          if (io.isOutputGone?.() === true) end.abort()
        },
        warn: (text: string) => void io.stderr.write(`${printable(text)}\n`),
      }
      await tailEvents(config, request, signal)
      // The terminal has shown ^C: what is typed next begins a line.
      if (io.stdout.isTTY === true) io.stdout.write('\n')
    })
}

function wantsOf(config: Config, { action, sink }: TailOptions): (event: Event) => boolean {
  const bySink = wantedBy(sink === undefined ? {} : chooseSinks(config, [sink])[0]!)
  const byAction = wantedBy(action === undefined ? {} : { where: { actions: action } })
  return (event) => bySink(event) && byAction(event)
}

function lineMaker(
  config: Config,
  zones: readonly Zone[],
  { sink, json }: TailOptions,
  { stdout }: Io,
): (event: Event) => string {
  if (sink !== undefined || json === true) {
    const encode = lineOf(sink === undefined ? { format: 'native' } : chooseSinks(config, [sink])[0]!)
    return (event) => inertJson(encode(event))
  }
  const paint = paintFor(stdout)
  const zoned =
    zones.length === 1 ? 0 : Math.min(widestZone, widestOf(zones.map(({ name }) => printable(name))))
  return (event) => tailLine(event, paint, stdout.isTTY !== true, zoned)
}
