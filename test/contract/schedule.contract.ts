import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { Failure, cancelled } from '../../src/domain/failure.ts'
import type { Schedule } from '../../src/ports.ts'
import { systemClock } from '../../src/clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { World, type ScheduleParts } from './schedule/world.ts'

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(cancelled(signal.reason)), { once: true })
    if (signal.aborted) reject(cancelled(signal.reason))
  })
}

/** What every schedule owes to the streams and to whoever stops it. */
export function scheduleContract(name: string, create: (parts: ScheduleParts) => Promise<Schedule>): void {
  describe(`a schedule: ${name}`, () => {
    const world = (): World => new World()
    const opened: Schedule[] = []

    async function started(of: World, streams = 4, backfillStreams = 2): Promise<Schedule> {
      const schedule = await create(of.parts(streams, backfillStreams))
      opened.push(schedule)
      await schedule.start()
      return schedule
    }
    afterEach(async () => {
      for (const schedule of opened.splice(0)) await schedule.stop()
    })

    it('pumps what is due, and leaves alone what is not', async () => {
      const of = world()
      of.add('live', [1, 2, 3])
      of.add('live', [4], Date.now() + 3_600_000)
      of.add('live', [5], Infinity)
      await started(of)
      await waitFor(() => of.ended.length >= 3, { what: 'three pumps' })
      const plansBefore = of.plans
      await waitFor(() => of.plans >= plansBefore + 2, { what: 'two more plans' })
      expect(of.ended.toSorted()).toEqual(['live 1', 'live 2', 'live 3'])
    })

    it('takes up a stream when its time comes', async () => {
      const of = world()
      const dueAtMs = Date.now() + 1_500
      of.add('live', [1], dueAtMs)
      await started(of)
      await waitFor(() => of.begun.length > 0, { what: 'the pump' })
      expect(Date.now()).toBeGreaterThanOrEqual(dueAtMs)
    })

    it('works on several streams at once, on as many as it may, and never twice on one', async () => {
      const of = world()
      of.add('live', [1, 2, 3, 4, 5, 6, 7, 8, 9])
      of.work = async (planned, _, signal) => {
        await systemClock.sleep(150, signal)
        // Most have more to do at once, so that they are queued again and again.
        if (of.begun.length > 40) of.rest(planned.stream, planned.lane)
        return undefined
      }
      await started(of, 3)
      await waitFor(() => of.ended.length > 40, { what: 'forty pumps', timeoutMs: 20_000 })
      expect(of.mostAtOnce).toBe(3)
      expect(of.mostOfOne).toBe(1)
      // Fair: no stream has waited while another one was pumped again and again.
      const counts = Map.groupBy(of.begun.slice(0, 36), (key) => key)
      expect(counts.size).toBe(9)
    })

    it('brings a stream back until it has no more to do', async () => {
      const of = world()
      of.add('live', [1])
      of.work = async ({ stream, lane }) => {
        if (of.begun.length >= 4) of.rest(stream, lane)
        return undefined
      }
      await started(of)
      await waitFor(() => of.ended.length >= 4, { what: 'four slices' })
      const { plans } = of
      await waitFor(() => of.plans > plans + 1, { what: 'two more plans' })
      expect(of.ended).toHaveLength(4)
    })

    it('goes on when a pump fails or throws, with the others and later with that stream', async () => {
      const of = world()
      of.add('live', [1, 2, 3])
      of.work = async ({ stream, lane }) => {
        if (stream.zone === 1 && of.begun.filter((key) => key === 'live 1').length === 1)
          throw new Error('a bug')
        of.rest(stream, lane)
        return stream.zone === 2 ? new Failure('retry', 'network', 'written down') : undefined
      }
      await started(of)
      await waitFor(() => of.ended.filter((key) => key === 'live 1').length === 2, {
        what: 'a second try',
        timeoutMs: 20_000,
      })
      expect(of.ended).toEqual(expect.arrayContaining(['live 2', 'live 3']))
      expect(of.happenings).toContainEqual({ name: 'TickFailed', error: new Error('a bug') })
    })

    it('says that the store is out of reach, and goes on when it is back', async () => {
      const of = world()
      of.add('live', [1])
      of.planFails = true
      await started(of)
      await waitFor(() => of.happenings.some(({ name }) => name === 'TickFailed'), { what: 'the line' })
      expect(of.begun).toEqual([])
      of.planFails = false
      await waitFor(() => of.ended.length === 1, { what: 'the pump', timeoutMs: 20_000 })
    })

    it('keeps places for backfills, which hold up nothing live', async () => {
      const of = world()
      of.add('backfill', [11, 12, 13, 14, 15])
      const stop = new AbortController()
      onTestFinished(() => stop.abort())
      of.work = async ({ stream, lane }, _, signal) => {
        if (lane === 'backfill') await untilAborted(AbortSignal.any([signal, stop.signal]))
        of.rest(stream, lane)
        return undefined
      }
      await started(of, 2, 2)
      await waitFor(() => of.begun.length === 2, { what: 'two backfills' })
      of.add('live', [1, 2, 3, 4, 5, 6])
      await waitFor(() => of.ended.filter((key) => key.startsWith('live')).length === 6, {
        what: 'all live pumps',
      })
      expect(of.begun.filter((key) => key.startsWith('backfill'))).toHaveLength(2)
    })

    it('tells a backfill to give way when live streams wait', async () => {
      const of = world()
      of.add('backfill', [11])
      let gaveWay = false
      of.work = async ({ stream, lane }, mayGoOn, signal) => {
        if (lane === 'live') await systemClock.sleep(1_000, signal)
        else while (mayGoOn()) await systemClock.sleep(10, signal)
        gaveWay ||= lane === 'backfill'
        of.rest(stream, lane)
        return undefined
      }
      await started(of, 1, 1)
      await waitFor(() => of.begun.length === 1, { what: 'the backfill' })
      of.add('live', [1, 2, 3])
      await waitFor(() => gaveWay, { what: 'the backfill to give way' })
      await waitFor(() => of.ended.length === 4, { what: 'all' })
    })

    it('leaves places to the others where a sink hangs, in both lanes', async () => {
      const of = world()
      of.sinkOf = (zone) => (zone > 100 ? 'slow' : 'archive')
      of.sinks = 2
      of.add('live', [101, 102, 103, 104, 105, 106, 107, 108])
      of.add('backfill', [121, 122, 123])
      // Behind those of the sink that hangs.
      of.add('live', [1, 2, 3, 4, 5, 6], 1)
      const answered = new AbortController()
      onTestFinished(() => answered.abort())
      of.work = async ({ stream, lane }, _, signal) => {
        if (stream.sink === 'slow') {
          const heard = AbortSignal.any([signal, answered.signal])
          await untilAborted(heard).catch((error: unknown) => {
            if (signal.aborted) throw error
          })
          of.rest(stream, lane)
        } else of.rest(stream, lane, answered.signal.aborted ? Infinity : Date.now() + 100)
        return undefined
      }
      await started(of, 4, 2)
      const slow = (lane: string) => of.begun.filter((key) => new RegExp(`^${lane} 1..$`).test(key)).length
      await waitFor(() => of.ended.length >= 20, {
        what: 'twenty pumps of the other sink',
        timeoutMs: 20_000,
      })
      expect(slow('live')).toBe(3)
      expect(new Set(of.ended).size).toBe(6)
      // Live streams first: those that wait for a place keep backfills of their account back.
      expect(slow('backfill')).toBe(0)
      answered.abort()
      await waitFor(() => slow('live') === 8 && slow('backfill') === 3, { what: 'the sink that hung' })
    })

    it('keeps a place for other backfills where the sink of one hangs', async () => {
      const of = world()
      of.sinkOf = (zone) => (zone > 100 ? 'slow' : 'archive')
      of.sinks = 2
      of.add('backfill', [101, 102, 103])
      of.add('backfill', [1, 2, 3, 4], 1)
      of.work = async ({ stream, lane }, _, signal) => {
        if (stream.sink === 'slow') await untilAborted(signal)
        of.rest(stream, lane)
        return undefined
      }
      await started(of, 2, 2)
      await waitFor(() => of.ended.length === 4, { what: 'the backfills of the other sink' })
      expect(of.begun.filter((key) => key.startsWith('backfill 10'))).toHaveLength(1)
    })

    it('lets a failing zone back off alone', async () => {
      const of = world()
      of.add('live', [1, 2, 3])
      of.work = async ({ stream, lane }) => {
        of.rest(stream, lane, Date.now() + (stream.zone === 1 ? 3_600_000 : 50))
        return stream.zone === 1 ? new Failure('retry', 'network', 'written down') : undefined
      }
      await started(of, 2)
      await waitFor(() => of.ended.length > 20, { what: 'the others', timeoutMs: 20_000 })
      expect(of.ended.filter((key) => key === 'live 1')).toHaveLength(1)
    })

    it('starts at most one backfill page of an account once a live stream of it is due', async () => {
      const of = world()
      const pages: number[] = []
      of.add('backfill', [11])
      of.work = async ({ lane, stream }, mayGoOn, signal) => {
        if (lane === 'live') of.rest(stream, lane)
        else
          do {
            pages.push(Date.now())
            await systemClock.sleep(20, signal)
          } while (mayGoOn())
        return undefined
      }
      await started(of)
      await waitFor(() => pages.length > 3, { what: 'the backfill' })
      const dueAtMs = Date.now() + 2_000
      of.add('live', [1], dueAtMs)
      await waitFor(() => of.ended.includes('live 1'), { what: 'the live stream' })
      const beganAtMs = of.beganAtMs.get('live 1') ?? 0
      expect(pages.filter((atMs) => atMs > dueAtMs && atMs < beganAtMs).length).toBeLessThanOrEqual(1)
      // And it goes on when the live stream has begun.
      const before = pages.length
      await waitFor(() => pages.length > before + 3, { what: 'more of the backfill' })
    })

    it('goes on with backfills of one account while live streams of another one wait', async () => {
      const of = world()
      of.accountOf = (zone) => (zone > 100 ? 'busy' : 'main')
      of.add('live', [101, 102, 103, 104, 105, 106])
      of.add('backfill', [111, 11])
      const pages = { busy: 0, main: 0 }
      of.work = async ({ lane, zone }, mayGoOn, signal) => {
        // Always more to do.
        if (lane === 'live') await systemClock.sleep(100, signal)
        else
          do {
            pages[zone.account === 'busy' ? 'busy' : 'main']++
            await systemClock.sleep(20, signal)
          } while (mayGoOn())
        return undefined
      }
      await started(of, 2, 2)
      await waitFor(() => of.ended.length > 8 && pages.main > 20, { what: 'both', timeoutMs: 20_000 })
      expect(pages.busy).toBe(0)
    })

    it('works on a stream that is wanted in both lanes in one at a time', async () => {
      const of = world()
      of.add('backfill', [1, 2, 3])
      of.add('live', [1, 2, 3])
      of.work = async ({ stream, lane }, mayGoOn, signal) => {
        for (let page = 0; page < 5 && mayGoOn(); page++) await systemClock.sleep(40, signal)
        of.rest(stream, lane)
        return undefined
      }
      await started(of, 3, 3)
      await waitFor(() => new Set(of.ended).size === 6, { what: 'both lanes of all three' })
      expect(of.mostOfOne).toBe(1)
    })

    it('tells that it lives and turns, also while nothing is due', async () => {
      const of = world()
      await started(of)
      await waitFor(() => of.heartbeats > 0 && of.turns > 1, { what: 'turns' })
      const turns = of.turns
      await waitFor(() => of.turns > turns, { what: 'another turn', timeoutMs: 15_000 })
    })

    it('ends what runs when it is stopped, and begins nothing more', async () => {
      const of = world()
      of.add('live', [1, 2, 3, 4])
      of.work = async (_, __, signal) => untilAborted(signal)
      const schedule = await started(of, 2)
      await waitFor(() => of.begun.length === 2, { what: 'two pumps' })
      await schedule.stop()
      expect(of.ended).toHaveLength(2)
      await schedule.stop()
      expect(of.begun).toHaveLength(2)
      expect(of.happenings.filter(({ name }) => name === 'TickFailed')).toEqual([])
    })

    it('can be stopped before it was started', async () => {
      const schedule = await create(world().parts(1, 1))
      await schedule.stop()
      await schedule.stop()
    })
  })
}
