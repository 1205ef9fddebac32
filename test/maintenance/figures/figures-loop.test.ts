import { expect, onTestFinished, test } from 'vitest'
import { Failure } from '../../../src/domain/failure.ts'
import { createFiguresLoop, type FiguresDeps } from '../../../src/maintenance/figures/figures-loop.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { keepInternalEvents } from '../../sinks/internal-events.ts'

const minute = 60_000
const shop = { id: 101, name: 'shop', account: 'default' }
const broken = new Failure('retry', 'server_error', 'the API failed')

/** A loop over one zone and one application, an hour apart, whose readings the test can let fail. */
function setUp(changes: Partial<FiguresDeps> = {}) {
  const clock = createFakeClock()
  const { telemetry, internalEvents } = keepInternalEvents()
  const world = { failure: undefined as Failure | undefined, isReader: true, isAnswering: true }
  const answer = async <T>(value: T): Promise<T> => {
    if (world.failure !== undefined) throw world.failure
    return value
  }
  const loop = createFiguresLoop({
    clock,
    telemetry,
    source: {
      readUploads: () => answer({ filesScanned: 7 }),
      readVolumes: () => answer([{ volume: 'data', region: 'DE', sizeBytes: 5 }]),
    },
    mayRead: async () => {
      if (!world.isAnswering) throw new Failure('retry', 'store_unavailable', 'Redis is away')
      return world.isReader
    },
    uploads: { zones: () => [shop], everyMs: 60 * minute },
    volumes: { apps: [{ id: 'blog', account: 'default' }], everyMs: 120 * minute },
    ...changes,
  })
  onTestFinished(() => loop.stop())
  const names = () => internalEvents.map(({ name }) => name)
  return { clock, loop, world, internalEvents, names }
}

test('reads everything at the start, and again at each configured interval', async () => {
  const { clock, loop, names, internalEvents } = setUp()
  loop.start()
  await clock.untilSleeping()
  expect(internalEvents).toEqual([
    { name: 'UploadScanningRead', zone: 101, figures: { filesScanned: 7 }, atMs: clock.now() },
    {
      name: 'VolumesRead',
      app: 'blog',
      figures: [{ volume: 'data', region: 'DE', sizeBytes: 5 }],
      atMs: clock.now(),
    },
  ])
  await clock.advance(59 * minute)
  expect(names()).toHaveLength(2)
  await clock.advance(minute)
  expect(names().slice(2)).toEqual(['UploadScanningRead'])
  await clock.advance(60 * minute)
  expect(names().slice(3)).toEqual(['UploadScanningRead', 'VolumesRead'])
})

test('tries again a minute after a failure, then later each time, at most after ten minutes', async () => {
  const { clock, loop, world, names, internalEvents } = setUp({ volumes: { apps: [], everyMs: 1 } })
  world.failure = broken
  loop.start()
  await clock.untilSleeping()
  expect(internalEvents).toEqual([
    { name: 'FiguresFailed', of: { zone: 101 }, account: 'default', failure: broken },
  ])
  await clock.advance(minute)
  expect(names()).toHaveLength(2)
  await clock.advance(minute)
  expect(names()).toHaveLength(2)
  await clock.advance(30 * minute)
  const failures = names().length
  await clock.advance(10 * minute)
  expect(names()).toHaveLength(failures + 1)
  world.failure = undefined
  await clock.advance(10 * minute)
  expect(names().at(-1)).toBe('UploadScanningRead')
})

test('waits as long as the API asks, but no longer than the interval', async () => {
  const { clock, loop, world, names } = setUp({
    uploads: { zones: () => [shop], everyMs: 1_000 },
    volumes: { apps: [], everyMs: 1 },
  })
  world.failure = new Failure('wait', 'throttled', 'slow down', { retryAt: clock.now() + 5 * minute })
  loop.start()
  await clock.untilSleeping()
  await clock.advance(4 * minute)
  expect(names()).toHaveLength(1)
  world.failure = broken
  await clock.advance(minute)
  await clock.advance(3_000)
  expect(names().length).toBeGreaterThanOrEqual(4)
})

test('one of several processes reads; another takes over at once, and the first reports that it no longer reads', async () => {
  const { clock, loop, world, names } = setUp()
  world.isReader = false
  loop.start()
  await clock.untilSleeping()
  await clock.advance(10 * minute)
  expect(names()).toEqual([])
  world.isReader = true
  await clock.advance(5_000)
  expect(names()).toEqual(['UploadScanningRead', 'VolumesRead'])
  world.isAnswering = false
  await clock.advance(60 * minute)
  expect(names().slice(2)).toEqual(['UploadScanningRead'])
  Object.assign(world, { isAnswering: true, isReader: false })
  await clock.advance(5_000)
  expect(names().slice(3)).toEqual(['FiguresHandedOver'])
  world.isReader = true
  await clock.advance(5_000)
  expect(names().slice(4)).toEqual(['UploadScanningRead', 'VolumesRead'])
})

test('does nothing without configured figures; a stop ends a reading in progress', async () => {
  const idle = setUp({ uploads: { zones: () => [], everyMs: 1 }, volumes: { apps: [], everyMs: 1 } })
  idle.loop.start()
  await idle.clock.untilSleeping()
  expect(idle.internalEvents).toEqual([])
  await idle.loop.stop()
  const begun = Promise.withResolvers<void>()
  const { loop, internalEvents } = setUp({
    source: {
      readUploads: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(broken))
          begun.resolve()
        }),
      readVolumes: async () => [],
    },
  })
  loop.start()
  await begun.promise
  await loop.stop()
  expect(internalEvents).toEqual([])
})
