import { Option, type Command } from 'commander'
import { readDepsOf } from '../../assemble/api-reading.ts'
import type { Work } from '../../assemble/work.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { byTime, createFollower, type Follower } from '../../days/follow.ts'
import { createFormat } from '../../formats/registry.ts'
import { wantsOf } from '../../sinks/wants.ts'
import { unknownWord } from '../../domain/event/known-words.ts'
import type { Event } from '../../domain/event/event.ts'
import { inertJson } from '../../domain/text/json.ts'
import { cut, pad, printable, widestOf } from '../../domain/text/terminal-text.ts'
import { collectNames, chooseSinks, chooseZones } from '../options.ts'
import type { Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { paintFor, wrapped, type Paint } from '../../terminal/text.ts'

interface TailOptions {
  readonly zone?: string[]
  readonly action?: string[]
  readonly sink?: string
  readonly json?: boolean
}

/** Events that existed before and are shown first, as by tail(1). */
const shownBefore = 10
const widestZone = 12

export function register({ command, io, open }: Registration): void {
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
      await using work = await open(command, 'events', { zones: 'listed' })
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
      const names = zones.map(({ name }) => printable(name))
      const zoned = names.length === 1 ? 0 : Math.min(widestZone, widestOf(names))
      const isEncoded = json || form !== undefined
      const lineFor = (event: Event) => (isEncoded ? inertJson(encode(event)) : tailLine(event, paint, zoned))
      const end = new AbortController()
      const signal = AbortSignal.any([io.signal, end.signal])
      const wanted = (event: Event) => filters.every((wants) => wants?.(event) !== false)
      const warn = (text: string) => void io.stderr.write(`${printable(text)}\n`)
      const deps = readDepsOf(work)
      const followers = new Set(zones.map((zone) => createFollower(zone, deps, wanted)))
      for await (const events of newEvents(work, followers, warn, signal)) {
        for (const event of events) io.stdout.write(`${lineFor(event)}\n`)
        // The reader closed the pipe: not an error.
        if (io.isOutputGone?.() === true) end.abort()
      }
      // The terminal has shown ^C: what is typed next begins a line.
      if (io.stdout.isTTY === true) io.stdout.write('\n')
    })
}

/** Polls at least this often, whatever `poll.everySeconds` says. */
const longestPauseMs = 5_000

/**
 * Events as the API lists them, until the signal aborts. Touches no state. Throws Failure of the first poll; `warn` gets
 * the error of a later one, which the next tries again.
 */
async function* newEvents(
  work: Work,
  followers: Set<Follower>,
  warn: (text: string) => void,
  signal: AbortSignal,
): AsyncGenerator<Event[]> {
  const pauseMs = Math.min(longestPauseMs, work.config.poll.everySeconds * 1000)
  for (let most = shownBefore; !signal.aborted; most = Infinity) {
    const isFirst = most === shownBefore
    const found: Event[] = []
    for (const follower of followers) {
      try {
        found.push(...(await follower.poll(signal, most)))
      } catch (error) {
        if (signal.aborted) return
        // The other zones can still be followed.
        const isOneOfSeveral = isFailure(error, 'zone_gone') && followers.size > 1
        if (isOneOfSeveral) followers.delete(follower)
        else if (isFirst || !isFailure(error)) throw error
        warn(messageOf(error))
      }
    }
    const sorted = found.toSorted(byTime)
    yield isFirst ? sorted.slice(-most) : sorted
    await work.runtime.clock.sleep(pauseMs, signal).catch(() => undefined)
  }
}

const absent = '-'
/** On a narrow terminal the last column has the country alone, else the network too. */
const narrowBelow = 100
const pipedPath = 40
const gap = '  '

/** An event as one line that fits the width, and is whole in a pipe; with `zoned`, the name of the zone is second. */
function tailLine(event: Event, { isPiped, width, ...paint }: Paint, zoned: number): string {
  const { time = '', action = absent, rule, request, client, zone } = event
  const isNarrow = !isPiped && width < narrowBelow
  const network = client?.asn === undefined || isNarrow ? undefined : `AS${client.asn}`
  const from = [client?.country, network].filter(Boolean).join(' ')
  // Some terminals wrap in the last column.
  let room = width - 1
  const cell = (text: string, size: number, colour = (shown: string) => shown) => {
    room -= size + gap.length
    const shown = printable(text)
    return colour(pad(isPiped ? shown : cut(shown, size), size))
  }
  const before = [
    cell(time.slice(11, 19), 8),
    ...(zoned === 0 ? [] : [cell(zone.name, zoned)]),
    cell(action, 10, colourOf(action, paint)),
    cell(rule?.id ?? absent, 8),
    cell(request?.method ?? absent, 4),
  ]
  const after = [cell(client?.address ?? absent, 15), cell(from, isNarrow ? 2 : 10)]
  const path = cell(pathOf(request?.url ?? absent), isPiped ? pipedPath : Math.max(1, room))
  return [...before, path, ...after].join(gap).trimEnd()
}

/** The name of each action as well as its colour says what happened. */
function colourOf(action: string, paint: Pick<Paint, 'bad' | 'dim' | 'good' | 'warn'>) {
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
