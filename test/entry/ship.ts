// An entry of the tests' own: the real parts, on a clock that may be shifted or faster, ended by SIGKILL, asked to stop
// or held by SIGSTOP at a named step.
//   node test/entry/ship.ts -c FILE [--once | --rounds | --replay | --backfill FROM:TO [--resend]]
//     [--kill before:commit:3] [--stop …] [--freeze …] [--fail amid:write:4 --code EIO] [--offset-ms N] [--rate N] [--origin-ms N]
//     [--step-ms N]
// With --rounds it says `drained` when nothing is left to ship, and begins again at each SIGUSR2; from the first one on
// it counts steps. With --step-ms the wall clock steps by that at a SIGUSR2, and back at the next one.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { createEngine, type Engine } from '../../src/process/engine.ts'
import { openBackend } from '../../src/process/open-backend.ts'
import { Daemon } from '../../src/process/daemon.ts'
import { createLoggedRuntime, type LoggedRuntime } from '../../src/assemble/logged-runtime.ts'
import { openWork } from '../../src/assemble/work.ts'
import { addBackfill, planIn, runInPlace } from '../../src/tasks/backfill/backfill.ts'
import { changeDeadLetters } from '../../src/tasks/dead-letters/replay.ts'
import { replayDeadLetters } from '../../src/tasks/dead-letters/replay.ts'
import { loadConfig, type Loaded } from '../../src/config/load.ts'
import { createLagHistory } from '../../src/status/lag-history.ts'
import type { Day } from '../../src/domain/day.ts'
import type { GivenUp } from '../../src/schedule/local/drain.ts'
import { createShiftedClock } from './shifted-clock.ts'
import { passingOf, passOptions, type Passing } from './steps.ts'
import { wrapShipping, wrapStore, wrapSystem } from './wrapping.ts'

const { values } = parseArgs({
  options: {
    config: { type: 'string', short: 'c' },
    once: { type: 'boolean', default: false },
    rounds: { type: 'boolean', default: false },
    backfill: { type: 'string' },
    resend: { type: 'boolean', default: false },
    replay: { type: 'boolean', default: false },
    ...passOptions,
    'offset-ms': { type: 'string', default: '0' },
    rate: { type: 'string', default: '1' },
    'origin-ms': { type: 'string' },
    'step-ms': { type: 'string' },
  },
})

const loaded = loadConfig({ argv: { config: values.config } })
const { 'offset-ms': offset, rate, 'origin-ms': origin } = values
const clock = createShiftedClock({
  offsetMs: Number(offset),
  rate: Number(rate),
  ...(origin !== undefined && { originMs: Number(origin) }),
})
const runtime = createLoggedRuntime(loaded.config, { clock })
const passCounted = passingOf(values)
let isCounting = !values.rounds
const pass: Passing = (...passed) => {
  if (isCounting) passCounted(...passed)
}
if (values['step-ms'] !== undefined) stepAtSignals(Number(values['step-ms']))
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
await wrapSystem(pass)
process.exitCode = await ship()
process.exit()

function stepAtSignals(stepMs: number): void {
  let steps = 0
  process.on('SIGUSR2', () => {
    clock.step(steps % 2 === 0 ? stepMs : -stepMs)
    process.stderr.write(`stepped ${++steps}\n`)
  })
}

function ship(): Promise<number> {
  if (values.backfill !== undefined) return backfill(loaded, values.backfill)
  if (values.replay) return replay(loaded)
  return values.once || values.rounds ? shipRounds(loaded, runtime) : shipOn(loaded, runtime)
}

async function shipRounds({ config }: Loaded, runtime: LoggedRuntime): Promise<number> {
  const { signal } = stop
  // On a fast clock the time for a connection is short, and on a busy machine the first try may miss it.
  const backend = await openBackend(config, 'all', runtime, signal, async () => undefined)
  wrapStore(backend.store, pass)
  const options = {
    runtime,
    backend,
    directory: { fill: () => config, read: async () => undefined },
    turned: () => undefined,
    sinkGone: () => process.exit(1),
    notReady: async () => [],
    history: createLagHistory(),
  }
  const engine = createEngine(config, options)
  wrapEngine(engine, pass)
  try {
    for (;;) {
      const givenUp = await engine.drain(randomUUID(), signal)
      complain(givenUp)
      if (givenUp.length > 0) return 1
      if (!values.rounds) return 0
      await told(signal)
      isCounting = true
    }
  } catch (error) {
    if (signal.aborted) return 0
    throw error
  } finally {
    await engine.close()
    await backend.close()
  }
}

/** Waits for SIGUSR2. */
async function told(signal: AbortSignal): Promise<void> {
  // Waiting for a signal alone keeps no process alive.
  const alive = setInterval(() => undefined, 60_000)
  try {
    const next = once(process, 'SIGUSR2', { signal })
    process.stderr.write('drained\n')
    await next
  } finally {
    clearInterval(alive)
  }
}

function complain(givenUp: readonly GivenUp[]): void {
  for (const { planned, reason } of givenUp) {
    const { zone, day, sink } = planned.stream
    process.stderr.write(`not read to the end: zone ${zone} ${day} → ${sink}: ${reason}\n`)
  }
}

/** Replays all dead letters as the command does. */
async function replay({ config }: Loaded): Promise<number> {
  await using work = await openWork(config, { store: 'existing' }, stop.signal)
  wrapStore(work.store, pass)
  const chosen = await work.store.deadLetters.list()
  await changeDeadLetters(work, { delivers: true }, (over) => replayDeadLetters(chosen, over, stop.signal))
  return 0
}

/** Makes a backfill of all zones and sinks and reads it in this process, as the command does but for its question. */
async function backfill({ config }: Loaded, range: string): Promise<number> {
  await using work = await openWork(config, { store: 'created', runtime }, stop.signal)
  wrapStore(work.store, pass)
  const [from, to] = range.split(':') as [Day, Day]
  const { resend } = values
  // Files are never shipped again.
  const sinks = config.sinks.filter(({ type }) => !resend || type !== 'file').map(({ name }) => name)
  const request = { from, to, zones: config.zones, sinks, resend }
  const { id } = await addBackfill(work, await planIn(work, request, stop.signal), stop.signal)
  const givenUp = await runInPlace(work, id, stop.signal)
  return givenUp?.length === 0 ? 0 : 1
}

async function shipOn(loaded: Loaded, runtime: LoggedRuntime): Promise<number> {
  const daemon = new Daemon(loaded, {
    runtime,
    serve: loaded.config.server.configured,
    role: 'all',
    sinkGone: () => stop.abort(),
  })
  await daemon.open(stop.signal)
  wrapEngine(daemon.engine(), pass)
  await daemon.start()
  await new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true }))
  await daemon.stop()
  return 0
}

function wrapEngine({ shipping }: Engine, pass: Passing): void {
  wrapShipping({ source: shipping.reading.source, sinks: shipping.sinks }, pass)
}
