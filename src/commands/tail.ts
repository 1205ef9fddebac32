import { Option, type Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import { tailEvents } from '../assemble/look.ts'
import { createFormat } from '../formats/registry.ts'
import { wantsOf } from '../sinks/wants.ts'
import { unknownWord } from '../domain/event/known-words.ts'
import type { Event } from '../domain/event/event.ts'
import { inertJson } from '../domain/text/json-text.ts'
import { cut, pad, printable, widestOf } from '../domain/text/terminal-text.ts'
import type { Zone } from '../domain/stream.ts'
import { collectNames, chooseSinks, chooseZones } from './options.ts'
import type { Registration } from './command.ts'
import { example } from './program-name.ts'
import { paintFor, wrapped, type Paint } from './terminal/text.ts'

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
    .action(async ({ zone, action, sink, json = false }: TailOptions, command: Command) => {
      await using work = await openWork(load(command, 'events').config, { zones: 'listed' }, io.signal)
      const zones = chooseZones(work.config, zone)
      for (const name of action ?? []) {
        const why = unknownWord('actions', name)
        if (why !== undefined)
          io.stderr.write(wrapped(`note: --action ${printable(name)} ${why}\n`, io.stderr))
      }
      const form = sink === undefined ? undefined : chooseSinks(work.config, [sink])[0]!
      const filters = [wantsOf(form ?? {}), wantsOf({ where: { actions: action } })]
      const { encode } = createFormat(form ?? { format: 'native' })
      const paint = paintFor(io.stdout)
      const zoned = zones.length === 1 ? 0 : Math.min(widestZone, widestOf(zones.map(nameOf)))
      const isEncoded = json || form !== undefined
      const lineFor = (event: Event) => (isEncoded ? inertJson(encode(event)) : tailLine(event, paint, zoned))
      const end = new AbortController()
      const request = {
        zones,
        wants: (event: Event) => filters.every((wants) => wants?.(event) !== false),
        before: shownBefore,
        show(events: readonly Event[]) {
          for (const event of events) io.stdout.write(`${lineFor(event)}\n`)
          // The reader closed the pipe: not an error.
          if (io.isOutputGone?.() === true) end.abort()
        },
        warn: (text: string) => void io.stderr.write(`${printable(text)}\n`),
      }
      await tailEvents(work, request, AbortSignal.any([io.signal, end.signal]))
      // The terminal has shown ^C: what is typed next begins a line.
      if (io.stdout.isTTY === true) io.stdout.write('\n')
    })
}

const nameOf = ({ name }: Zone) => printable(name)

const absent = '-'
/** On a narrow terminal the last column has the country alone, else the network too. */
const narrowBelow = 100
const path = { narrowest: 8, piped: 40 }

/** An event as one line that fits the width, and is whole in a pipe; with `zoned`, the name of the zone is second. */
function tailLine(event: Event, paint: Paint, zoned: number): string {
  const { isPiped, width } = paint
  const { time = '', action = absent, rule, request, client, zone } = event
  const isNarrow = !isPiped && width < narrowBelow
  const network = client?.asn === undefined || isNarrow ? undefined : `AS${client.asn}`
  const before = [[time.slice(11, 19), 8] as const, ...(zoned === 0 ? [] : [[zone.name, zoned] as const])]
  const after = [
    [rule?.id ?? absent, 8],
    [request?.method ?? absent, 4],
    [pathOf(request?.url ?? absent), 0],
    [client?.address ?? absent, 15],
    [[client?.country, network].filter(Boolean).join(' '), isNarrow ? 2 : 10],
  ] as const
  const cells = [...before, [action, 10] as const, ...after]
  let room = width - 1 + 2
  for (const [, own] of cells) room -= own + 2
  const texts = cells.map(([text, own]) => {
    const size = own || (isPiped ? path.piped : Math.max(path.narrowest, room))
    return pad(isPiped ? printable(text) : cut(printable(text), size), size)
  })
  const line = cut(texts.join('  '), isPiped ? Infinity : width - 1)
  const from = texts.slice(0, before.length).join('  ').length + 2
  const to = from + texts[before.length]!.length
  return line.slice(0, from) + colourOf(action, paint)(line.slice(from, to)) + line.slice(to)
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
