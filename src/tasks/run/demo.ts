import { globSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../clock.ts'
import { loadConfig } from '../../config/load.ts'
import { dayOf, daysFrom, shiftDay } from '../../domain/day.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import { withDeadline } from '../../domain/promises.ts'
import { printable, counted } from '../../domain/text/terminal-text.ts'
import { startSimulator, type Simulator } from '../../simulator/simulator.ts'
import type { Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import type { Io } from '../../terminal/io.ts'
import { atLeastOne } from '../options.ts'
import { run } from './command.ts'
import { wrapped } from '../../terminal/text.ts'

export function register({ command, io, exit }: Registration): void {
  command
    .option('--seconds <number>', 'stop after this time; default: at Ctrl-C', atLeastOne)
    .addHelpText('after', example('demo --seconds 15'))
    .action(async ({ seconds = Infinity }: { seconds?: number }) => exit(await demo(seconds, io)))
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

async function demo(seconds: number, io: Io): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'shieldlog-demo-'))
  const events = join(folder, 'events')
  const simulator = await startSimulator({
    zones: zoneIds,
    accessKey,
    days: history.events,
    pageSize: history.pageSize,
    live: { ratePerSecond: perSecond },
  })
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
  const load = () => loadConfig({ draft: settings, env: {}, cwd: folder })
  const ship = (signal: AbortSignal) =>
    run(load, { once: false, progress: 'always', watch: showSample(events) }, { ...io, signal })
  const say = (line: string) => void io.stderr.write(wrapped(`${line}\n`, io.stderr))
  try {
    for (const line of greeting(simulator, events, seconds)) io.stderr.write(`${line}\n`)
    const code = await withDeadline(seconds * 1000, io.signal, systemClock, ship)
    say(compareWithApi(events, simulator))
    return code
  } finally {
    await simulator.close()
    say(`the shipped events are in ${events}\nto remove them: rm -r ${folder}`)
  }
}

function greeting(simulator: Simulator, events: string, seconds: number): string[] {
  const named = zones.map(({ id, name }) => `${id} (${name})`).join(' and ')
  const today = dayOf(systemClock.now())
  return [
    `API      ${simulator.url}, simulated, with zones ${named}`,
    `         three days of events, and ${perSecond} new ones a second in each zone`,
    `events   ${events}`,
    `watch    tail -F ${events}/shield_zone=${zoneIds[0]}/day=${today}/*.ndjson`,
    `ends     ${seconds < Infinity ? `after ${seconds} seconds, or ` : ''}with Ctrl-C`,
    '',
  ]
}

/** Shows the addresses of the server, and the first event that was shipped, one field a row. */
function showSample(events: string): (internalEvent: InternalEvent, say: (line: string) => void) => void {
  let isShown = false
  return (internalEvent, say) => {
    const { name } = internalEvent
    if (name === 'ServerListening')
      say(`page     ${internalEvent.address}/\nmetrics  ${internalEvent.address}/metrics\n`)
    if (isShown || name !== 'LoadCommitted' || internalEvent.delivered === 0) return
    isShown = true
    const { zone, day } = internalEvent.stream
    const [part = ''] = globSync(join(events, `shield_zone=${zone}/day=${day}/*.ndjson`))
    const [line = ''] = readFileSync(part, 'utf8').split('\n', 1)
    const { labels: _, log: __, ...shown } = JSON.parse(line) as Record<string, unknown>
    say('the first event in the file, without labels and log:')
    for (const [field, value] of Object.entries(shown))
      say(`  ${field.padEnd(8)} ${printable(typeof value === 'string' ? value : JSON.stringify(value))}`)
    say('')
  }
}

/** Compares every line below the path with all entries of the simulator, in words. */
export function compareWithApi(path: string, simulator: Simulator): string {
  const keys = globSync('shield_zone=*/day=*/*.ndjson', { cwd: path }).flatMap((part) => {
    const [, zone = '', day = ''] = /shield_zone=(\d+)\Wday=([\d-]+)/.exec(part) ?? []
    const lines = readFileSync(join(path, part), 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => `${zone} ${day} ${(JSON.parse(line) as { readonly id: string }).id}`)
  })
  const shipped = new Set(keys)
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
  const repeated = keys.length - shipped.size
  const verdict = missing + repeated === 0 ? 'verified' : 'DIFFERENT FROM THE API'
  const rest = newer === 0 ? '' : `; the next poll would ship ${newer} newer`
  return `${verdict}: ${counted(shipped.size, 'event')} in the files, ${missing || 'none'} missing, ${repeated || 'none'} twice${rest}`
}
