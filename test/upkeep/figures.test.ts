import { expect, onTestFinished, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { keepFigures, targetsOf, type FiguresDeps } from '../../src/upkeep/figures.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { keepInternalEvents } from '../sinks/internal-events.ts'

const minute = 60_000
const account = 'default'
const zone = { of: { zone: 101 }, account, everyMs: 60 * minute }
const app = { of: { app: 'blog' }, account, everyMs: 120 * minute }
const figures = [{ metric: 'volume_size_bytes', value: 5 }] as const
const broken = new Failure('retry', 'server_error', 'the API failed')

/** A loop over one zone and one application, whose readings the test can let fail. */
function setUp(changes: Partial<FiguresDeps> = {}) {
  const clock = createFakeClock()
  const { telemetry, internalEvents } = keepInternalEvents()
  const world = { failure: undefined as Failure | undefined, isReader: true, isAnswering: true }
  const figuresDeps: FiguresDeps = {
    clock,
    telemetry,
    async read() {
      if (world.failure !== undefined) throw world.failure
      return figures
    },
    leads: async () => {
      if (!world.isAnswering) throw new Failure('retry', 'store_unavailable', 'Redis is away')
      return world.isReader
    },
    targets: () => [zone, app],
    ...changes,
  }
  const stopped = new AbortController()
  let reading: Promise<void> | undefined
  const loop = {
    start: () => void (reading = keepFigures(figuresDeps, stopped.signal)),
    stop: () => (stopped.abort(), reading),
  }
  onTestFinished(() => loop.stop())
  /** Whose figures were read, or what else happened. */
  const told = () =>
    internalEvents.map((each) =>
      each.name === 'FiguresRead' ? Object.values(each.of).join() : (each.name as string),
    )
  return { clock, loop, world, internalEvents, told }
}

test('reads everything at the start, and again at each configured interval', async () => {
  const { clock, loop, told, internalEvents } = setUp()
  loop.start()
  await clock.untilSleeping()
  expect(internalEvents).toEqual([
    { name: 'FiguresRead', of: { zone: 101 }, account, figures, atMs: clock.now() },
    { name: 'FiguresRead', of: { app: 'blog' }, account, figures, atMs: clock.now() },
  ])
  await clock.advance(59 * minute)
  expect(told()).toHaveLength(2)
  await clock.advance(minute)
  expect(told().slice(2)).toEqual(['101'])
  await clock.advance(60 * minute)
  expect(told().slice(3)).toEqual(['101', 'blog'])
})

test('tries again five minutes after a failure, sooner at a shorter interval, and later where the API asks for that', async () => {
  const { clock, loop, world, told, internalEvents } = setUp({
    targets: () => [zone, { ...app, everyMs: 5_000 }],
  })
  world.failure = new Failure('wait', 'throttled', 'slow down', { retryAt: clock.now() + 7 * minute })
  loop.start()
  await clock.untilSleeping()
  expect(internalEvents[0]).toMatchObject({
    name: 'FiguresFailed',
    of: { zone: 101 },
    neverRead: true,
    failure: world.failure,
  })
  await clock.advance(6 * minute)
  expect(told()).toHaveLength(2)
  world.failure = broken
  await clock.advance(minute)
  await clock.advance(10_000)
  expect(told().length).toBeGreaterThanOrEqual(5)
  world.failure = undefined
  await clock.advance(3 * minute)
  expect(told()).not.toContain('101')
  await clock.advance(2 * minute)
  expect(told()).toContain('101')
})

test('one of several processes reads; another takes over at once, and the first reports that it no longer reads', async () => {
  const { clock, loop, world, told } = setUp()
  world.isReader = false
  loop.start()
  await clock.untilSleeping()
  await clock.advance(10 * minute)
  expect(told()).toEqual([])
  world.isReader = true
  await clock.advance(5_000)
  expect(told()).toEqual(['101', 'blog'])
  world.isAnswering = false
  await clock.advance(60 * minute)
  expect(told().slice(2)).toEqual(['101'])
  Object.assign(world, { isAnswering: true, isReader: false })
  await clock.advance(5_000)
  expect(told().slice(3)).toEqual(['FiguresHandedOver'])
  world.isReader = true
  await clock.advance(5_000)
  expect(told().slice(4)).toEqual(['101', 'blog'])
})

test('figures are wanted of all zones, also of those that come later, and of the applications that are named', () => {
  const zones = [{ id: 101, name: 'shop', account }]
  const wanted = {
    uploadScanning: { everyMinutes: 60 },
    volumes: { everyMinutes: 120, apps: [{ id: 'blog', account }] },
  }
  const targets = targetsOf(wanted, () => zones)
  expect(targets()).toEqual([zone, app])
  zones.push({ id: 102, name: 'blog', account })
  expect(targets()).toEqual([zone, { ...zone, of: { zone: 102 } }, app])
  expect(targetsOf({ volumes: wanted.volumes }, () => zones)()).toEqual([app])
})
