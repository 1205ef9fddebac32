import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Schedule } from '../../../src/ports/process.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { World, untilAborted } from './world.ts'

type Start = (of: World, streams?: number, backfillStreams?: number) => Schedule

/** Whom a schedule lets go first, and whom it lets wait for nobody. */
export function fairnessContract(started: Start): void {
  const world = (): World => new World(systemClock)

  it('reserves places for backfills, which do not delay live streams', async ({ onTestFinished }) => {
    const of = world()
    of.add('backfill', [11, 12, 13, 14, 15])
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    of.work = async ({ stream, priority }, signal) => {
      if (priority === 'backfill') await untilAborted(AbortSignal.any([signal, stop.signal]))
      of.rest(stream, priority)
      return undefined
    }
    started(of, 2, 2)
    await waitFor(() => of.begun.length === 2, { what: 'two backfills' })
    of.add('live', [1, 2, 3, 4, 5, 6])
    await waitFor(() => of.ended.filter((key) => key.startsWith('live')).length === 6, {
      what: 'all live pumps',
    })
    expect(of.begun.filter((key) => key.startsWith('backfill'))).toHaveLength(2)
  })

  it('keeps places for the other sinks if one hangs, in both priorities', async ({ onTestFinished }) => {
    const of = world()
    of.sinkOf = (zone) => (zone > 100 ? 'slow' : 'archive')
    of.sinks = ['archive', 'slow']
    of.add('live', [101, 102, 103, 104, 105, 106, 107, 108])
    of.add('backfill', [121, 122, 123])
    // Behind those of the sink that hangs.
    of.add('live', [1, 2, 3, 4, 5, 6], 1)
    const answered = new AbortController()
    onTestFinished(() => answered.abort())
    of.work = async ({ stream, priority }, signal) => {
      if (stream.sink === 'slow') {
        const heard = AbortSignal.any([signal, answered.signal])
        await untilAborted(heard).catch((error: unknown) => {
          if (signal.aborted) throw error
        })
        of.rest(stream, priority)
      } else of.rest(stream, priority, answered.signal.aborted ? Infinity : Date.now() + 100)
      return undefined
    }
    started(of, 4, 2)
    const slow = (priority: string) =>
      of.begun.filter((key) => new RegExp(`^${priority} 1..$`).test(key)).length
    await waitFor(() => of.ended.length >= 20, {
      what: 'twenty pumps of the other sink',
    })
    expect(slow('live')).toBe(2)
    expect(new Set(of.ended).size).toBe(6)
    answered.abort()
    await waitFor(() => slow('live') === 8 && slow('backfill') === 3, { what: 'the sink that hung' })
  })
}
