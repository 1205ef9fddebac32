import { Option, type Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import { tailEvents } from '../assemble/look.ts'
import { createFormat } from '../formats/registry.ts'
import { wantsOf } from '../sinks/wants.ts'
import type { Config } from '../config/schema.ts'
import { unknownWord } from '../domain/event/known-words.ts'
import type { Event } from '../domain/event/event.ts'
import { inertJson } from '../domain/text/json-text.ts'
import { printable, widestOf, cut, pad, textWidth } from '../domain/text/terminal-text.ts'
import type { Zone } from '../domain/stream.ts'
import { collectNames, chooseSinks, chooseZones } from './options.ts'
import type { Io, Registration } from './command.ts'
import { example } from './program-name.ts'
import { wrapped, paintFor } from './terminal/text.ts'
import type { Paint } from './terminal/text.ts'

interface TailOptions {
  readonly zone?: string[]
  readonly action?: string[]
  readonly sink?: string
  readonly json?: boolean
}

/** Events that existed before and are shown first, as by tail(1). */
const shownBefore = 10
const widestZone = 12

export function register({ command, io, load }: Registration): void {
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
      await using work = await openWork(load(command, 'events').config, { zones: 'listed' }, io.signal)
      const { config } = work
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
        wants: wantedBy(config, options),
        before: shownBefore,
        show(events: readonly Event[]) {
          for (const event of events) io.stdout.write(`${lineFor(event)}\n`)
          // The reader closed the pipe: not an error.
          if (io.isOutputGone?.() === true) end.abort()
        },
        warn: (text: string) => void io.stderr.write(`${printable(text)}\n`),
      }
      await tailEvents(work, request, signal)
      // The terminal has shown ^C: what is typed next begins a line.
      if (io.stdout.isTTY === true) io.stdout.write('\n')
    })
}

function wantedBy(config: Config, { action, sink }: TailOptions): (event: Event) => boolean {
  const bySink = sink === undefined ? undefined : wantsOf(chooseSinks(config, [sink])[0]!)
  const byAction = wantsOf({ where: { actions: action } })
  return (event) => bySink?.(event) !== false && byAction?.(event) !== false
}

function lineMaker(
  config: Config,
  zones: readonly Zone[],
  { sink, json }: TailOptions,
  { stdout }: Io,
): (event: Event) => string {
  if (sink !== undefined || json === true) {
    const { encode } = createFormat(
      sink === undefined ? { format: 'native' } : chooseSinks(config, [sink])[0]!,
    )
    return (event) => inertJson(encode(event))
  }
  const paint = paintFor(stdout)
  const zoned =
    zones.length === 1 ? 0 : Math.min(widestZone, widestOf(zones.map(({ name }) => printable(name))))
  return (event) => tailLine(event, paint, stdout.isTTY !== true, zoned)
}

const absent = '-'
/** Widths of the columns; what is left of a terminal's line is for the path. */
const widths = { action: 10, rule: 8, method: 4, address: 15 }
/** Country and network, or the country alone on a narrow terminal. */
const fromWidth = { wide: 10, narrow: 2, narrowBelow: 100 }
const narrowestPath = 8
/** Of a path that is printed to a pipe. */
const pipedPath = 40

/**
 * Formats an event as one line that fits the width, and is whole in a pipe; with `zoned`, the name of the zone is
 * first.
 */
function tailLine(event: Event, paint: Paint, isPiped: boolean, zoned = 0): string {
  const { time = '', action = absent, rule, request, client, zone } = event
  const column = (text: string, width: number) =>
    pad(isPiped ? printable(text) : cut(printable(text), width), width)
  const zoneColumn = zoned === 0 ? '' : `${column(zone.name, zoned)}  `
  const left = `${time.slice(11, 19).padEnd(8)}  ${zoneColumn}`
  const middle = `  ${column(rule?.id ?? absent, widths.rule)}  ${column(request?.method ?? absent, widths.method)} `
  const isNarrow = !isPiped && paint.width < fromWidth.narrowBelow
  const network = client?.asn === undefined || isNarrow ? undefined : `AS${client.asn}`
  const from = [client?.country, network]
  const right = `${column(client?.address ?? absent, widths.address)}  ${printable(from.filter(Boolean).join(' '))}`
  const fixed =
    textWidth(left) +
    widths.action +
    textWidth(middle) +
    widths.address +
    fromWidth[isNarrow ? 'narrow' : 'wide'] +
    5
  const room = isPiped ? pipedPath : Math.max(narrowestPath, paint.width - fixed)
  const path = pathOf(request?.url ?? absent)
  const plain = `${middle}${column(path, room)}  ${right}`
  const rest = isPiped ? plain.trimEnd() : cut(plain, paint.width - textWidth(left) - widths.action)
  return `${left}${colourOf(action, paint)(column(action, widths.action))}${rest}`
}

/** The name of each action as well as its colour says what happened. */
function colourOf(action: string, paint: Paint): (text: string) => string {
  if (action === 'Blocked') return paint.bad
  if (action === 'Logged') return paint.dim
  if (action === 'Allowed') return paint.good
  return paint.warn
}

/** Path and query of a URL; any other text as it is. */
function pathOf(url: string): string {
  const [, path = ''] = /^[a-z]+:\/\/[^/?#]*(.*)$/is.exec(url) ?? []
  return path === '' ? url : path
}
