import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printable } from '../domain/text/terminal-text.ts'
import { systemClock } from '../clock.ts'
import { loadConfig, type Loaded } from '../config/load.ts'
import { dayOf, daysFrom, shiftDay } from '../domain/day.ts'
import type { InternalEvent } from '../domain/internal-event.ts'
import { startSimulator, type Simulator } from '../simulator/simulator.ts'
import { atLeastOne } from './options.ts'
import type { Io, Registration } from './command.ts'
import { run } from './run.ts'
import { example } from './program-name.ts'
import { wrapped, counted } from './terminal/text.ts'
import { createReadStream, globSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export function register({ command, io, exit }: Registration): void {
  command
    .option('--seconds <number>', 'stop after this time; default: at Ctrl-C', atLeastOne)
    .addHelpText('after', example('demo --seconds 15'))
    .action(async ({ seconds }: { seconds?: number }) => exit(await demo(seconds, io)))
}

const zones = [
  { id: 101, name: 'shop' },
  { id: 102, name: 'blog' },
]
const zoneIds = zones.map(({ id }) => id)
const accessKey = 'demo'
const perSecond = 5
/** Events of each zone and day: enough for several pages, read within a second or two. */
const history = { days: 3, events: 500, pageSize: 200 }

export async function demo(seconds: number | undefined, io: Io): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'shieldlog-demo-'))
  const events = join(folder, 'events')
  const simulator = await startSimulator({
    zones: zoneIds,
    accessKey,
    days: history.events,
    pageSize: history.pageSize,
    live: { ratePerSecond: perSecond },
  })
  const ending = endAfter(seconds, io.signal)
  const say = (line: string) => void io.stderr.write(wrapped(`${line}\n`, io.stderr))
  try {
    for (const line of greeting(simulator, events, seconds)) io.stderr.write(`${line}\n`)
    const load = () => loadDemo(simulator, folder, events)
    const demoIo = { ...io, signal: ending.signal }
    const code = await run(load, { once: false, progress: 'always', watch: showSample(events) }, demoIo)
    say(await compareWithApi(events, simulator))
    return code
  } finally {
    ending.cancel()
    await simulator.close()
    say(`the shipped events are in ${events}\nto remove them: rm -r ${folder}`)
  }
}

function loadDemo(simulator: Simulator, folder: string, events: string): Loaded {
  const settings = {
    api: { baseUrl: simulator.url, accessKey },
    zones,
    poll: { everySeconds: 1 },
    state: `sqlite:${join(folder, 'shieldlog.db')}`,
    sinks: [{ name: 'archive', type: 'file', path: events }],
    server: { port: 0 },
    // Beside lines for people.
    log: { level: 'warn', format: 'pretty' },
  }
  return loadConfig({ draft: JSON.stringify(settings), env: {}, cwd: folder })
}

function greeting(simulator: Simulator, events: string, seconds: number | undefined): string[] {
  const named = zones.map(({ id, name }) => `${id} (${name})`).join(' and ')
  const today = dayOf(systemClock.now())
  return [
    `API      ${simulator.url}, simulated, with zones ${named}`,
    `         three days of events, and ${perSecond} new ones a second in each zone`,
    `events   ${events}`,
    `watch    tail -F ${events}/zone=${zoneIds[0]}/day=${today}/*.ndjson`,
    `ends     ${seconds === undefined ? 'with Ctrl-C' : `after ${seconds} seconds, or with Ctrl-C`}`,
    '',
  ]
}

function addressLines(address: string): string {
  return `page     ${address}/\nmetrics  ${address}/metrics\n`
}

/** Shows the addresses of the server, and the first event that was shipped. */
function showSample(events: string): (internalEvent: InternalEvent, say: (line: string) => void) => void {
  let shown = false
  return (internalEvent, say) => {
    if (internalEvent.name === 'ServerListening') say(addressLines(internalEvent.address))
    if (shown || internalEvent.name !== 'PageCommitted' || internalEvent.delivered === 0) return
    shown = true
    const line = firstLineBelow(events)
    if (line === undefined) return
    say('the first event in the file, without labels and log:')
    for (const text of sampleLines(line)) say(`  ${printable(text)}`)
    say('')
  }
}

/** Aborts with the given signal or after the time; the abort reason is text for people. */
function endAfter(
  seconds: number | undefined,
  signal: AbortSignal,
): { readonly signal: AbortSignal; cancel(): void } {
  const end = new AbortController()
  const cancelled = new AbortController()
  signal.addEventListener('abort', () => end.abort(signal.reason), { signal: cancelled.signal })
  if (signal.aborted) end.abort(signal.reason)
  if (seconds !== undefined)
    void systemClock.sleep(seconds * 1000, cancelled.signal).then(
      () => end.abort(`stopping after ${seconds} seconds`),
      () => undefined,
    )
  return { signal: end.signal, cancel: () => cancelled.abort() }
}

const parts = 'zone=*/day=*/*.ndjson'

/** The first line below a file sink's path; undefined where there is none. */
export function firstLineBelow(path: string): string | undefined {
  for (const part of globSync(parts, { cwd: path }).toSorted()) {
    const [line = '', rest] = readFileSync(join(path, part), 'utf8').split('\n', 2)
    if (rest !== undefined && line !== '') return line
  }
  return undefined
}

/** A line in native format, one field a row. */
export function sampleLines(line: string): string[] {
  return Object.entries(JSON.parse(line) as Record<string, unknown>)
    .filter(([name]) => name !== 'labels' && name !== 'log')
    .map(([name, value]) => `${name.padEnd(8)} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
}

/** Compares every line below the path with all entries of the simulator, in words. */
export async function compareWithApi(path: string, simulator: Simulator): Promise<string> {
  const shipped = new Set<string>()
  let lines = 0
  for (const part of globSync(parts, { cwd: path })) {
    const [, zone = '', day = ''] = /zone=(\d+)\/day=([\d-]+)\//.exec(part.replaceAll('\\', '/')) ?? []
    for await (const line of createInterface(createReadStream(join(path, part)))) {
      lines++
      const { id } = JSON.parse(line) as { readonly id: string }
      shipped.add(`${zone} ${day} ${id}`)
    }
  }
  const today = dayOf(systemClock.now())
  let [missing, newer] = [0, 0]
  for (const zone of zoneIds)
    for (const day of daysFrom(shiftDay(today, 1 - history.days), today)) {
      const isShipped = simulator
        .entries(zone, day)
        .map(({ logId }) => shipped.has(`${zone} ${day} ${logId}`))
      // What the API listed after the last event in the files the next poll would ship.
      const read = isShipped.lastIndexOf(true) + 1
      newer += isShipped.length - read
      missing += isShipped.slice(0, read).filter((is) => !is).length
    }
  const repeated = lines - shipped.size
  const verdict = missing + repeated === 0 ? 'verified' : 'DIFFERENT FROM THE API'
  const rest = newer === 0 ? '' : `; the next poll would ship ${newer} newer`
  return `${verdict}: ${counted(shipped.size, 'event')} in the files, ${missing || 'none'} missing, ${repeated || 'none'} twice${rest}`
}
