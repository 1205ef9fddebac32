// An entry of the tests' own: the real parts, on a clock that may be shifted or faster, ended by SIGKILL or held by
// SIGSTOP at a named step.
//   node test/entry/ship.ts -c FILE [--once] [--role worker] [--kill before:commit:3] [--freeze before:commit:3]
//     [--offset-ms N] [--rate N] [--origin-ms N]
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createDaemon } from '../../src/assemble/daemon.ts'
import { createEngine, type Engine } from '../../src/assemble/engine.ts'
import { createGround, type Ground } from '../../src/assemble/ground.ts'
import { openBackend } from '../../src/assemble/open-backend.ts'
import { loadConfig, type Loaded } from '../../src/config/load.ts'
import { createShiftedClock } from './shifted-clock.ts'
import { freezeAt, killAt, parseDeadline, type Passing } from './steps.ts'
import { wrapShipping, wrapStore, wrapSystem } from './wrapping.ts'

const { values } = parseArgs({
  options: {
    config: { type: 'string', short: 'c' },
    once: { type: 'boolean', default: false },
    role: { type: 'string', default: 'all' },
    kill: { type: 'string' },
    freeze: { type: 'string' },
    'offset-ms': { type: 'string', default: '0' },
    rate: { type: 'string', default: '1' },
    'origin-ms': { type: 'string' },
  },
})

const loaded = loadConfig({ argv: { config: values.config } })
const { 'offset-ms': offset, rate, 'origin-ms': origin } = values
const clock = createShiftedClock({
  offsetMs: Number(offset),
  rate: Number(rate),
  ...(origin !== undefined && { originMs: Number(origin) }),
})
const ground = createGround(loaded.config, { clock })
const roles = ['all', 'scheduler', 'worker'] as const
const deadlineOf = (text: string | undefined) => (text === undefined ? undefined : parseDeadline(text))
const passes = [killAt(deadlineOf(values.kill)), freezeAt(deadlineOf(values.freeze))]
const pass: Passing = (side, step) => passes.forEach((each) => each(side, step))
await wrapSystem(pass)
process.exitCode = values.once ? await shipOnce(loaded, ground, pass) : await shipOn(loaded, ground, pass)
process.exit()

async function shipOnce({ config }: Loaded, ground: Ground, pass: Passing): Promise<number> {
  const backend = await openBackend(config, 'all', ground)
  wrapStore(backend.store, pass)
  const options = { ground, backend, turned: () => undefined, sinkGone: () => process.exit(1) }
  const engine = createEngine(config, options)
  wrapEngine(engine, pass)
  const { signal } = new AbortController()
  await backend.acquire(signal)
  const givenUp = await engine.drain(randomUUID(), signal)
  for (const { planned, reason } of givenUp) {
    const { zone, day, sink } = planned.stream
    process.stderr.write(`not read to the end: zone ${zone} ${day} → ${sink}: ${reason}\n`)
  }
  await engine.close()
  await backend.close()
  return givenUp.length === 0 ? 0 : 1
}

async function shipOn(loaded: Loaded, ground: Ground, pass: Passing): Promise<number> {
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort())
  const role = roles.find((each) => each === values.role)
  if (role === undefined) throw new Error(`no role: ${values.role}`)
  const daemon = createDaemon(loaded, {
    ground,
    serve: loaded.config.server.configured,
    role,
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
