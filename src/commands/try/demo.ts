import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printable } from '../../domain/text/printable.ts'
import { systemClock } from '../../clock.ts'
import { loadConfig, type Loaded } from '../../config/load/load.ts'
import { dayOf } from '../../domain/day.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import { startSimulator, type Simulator } from '../../simulator/simulator.ts'
import { atLeastOne } from '../arguments.ts'
import { compareWithApi, comparisonLine, firstLineBelow, sampleLines } from './demo-files.ts'
import type { Io } from '../io.ts'
import type { Registration } from '../registration.ts'
import { run } from '../run.ts'
import { example } from '../program-name.ts'
import { wrapped } from '../terminal/wrapped.ts'

export function registerDemo({ command, io, exit }: Registration): void {
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
/** Per zone and per one of three days: enough for several pages, read within a second or two. */
const history = { events: 500, pageSize: 200 }

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
    const compared = await compareWithApi(events, simulator, zoneIds)
    say(comparisonLine(compared))
    return code
  } finally {
    ending.cancel()
    await simulator.close()
    say(`the shipped events are in ${events}\nto remove them: rm -r ${folder}`)
  }
}

function loadDemo(simulator: Simulator, folder: string, events: string): Loaded {
  const overrides = {
    'api.baseUrl': simulator.url,
    'api.accessKey': accessKey,
    zones: JSON.stringify(zones),
    'poll.everySeconds': '1',
    state: `sqlite:${join(folder, 'shieldlog.db')}`,
    sinks: JSON.stringify([{ name: 'archive', type: 'file', path: events }]),
    'server.port': '0',
    'log.level': 'warn',
    // Beside lines for people.
    'log.format': 'pretty',
  }
  return loadConfig({ argv: { overrides }, env: {}, cwd: folder })
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
