import { systemClock } from '../../../src/clock.ts'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import { streamKey } from '../../../src/domain/stream.ts'
import {
  BullmqSchedule,
  type BullmqScheduleDeps,
  type BullmqScheduleOptions,
} from '../../../src/schedule/bullmq/schedule.ts'
import { plannedStream, streamOf } from '../../contract/schedule/planned.ts'
import { serversAt } from '../../redis/servers.ts'
import { own } from '../../setup/leftovers.ts'
import type { TestRedis } from '../../setup/redis.ts'

/** A schedule over streams of these zones, which are due once: `due` has when, by stream. Stopped after the test. */
export function scheduleAt(
  { url, keyPrefix }: TestRedis,
  options: Partial<BullmqScheduleOptions> &
    Readonly<{ zones?: readonly number[]; checkpoint?: Checkpoint }> = {},
  deps: Partial<BullmqScheduleDeps> = {},
) {
  const { zones = [1, 2], checkpoint, ...more } = options
  const due = new Map(zones.map((zone) => [streamKey(streamOf(zone)), 0]))
  const planned = (zone: number) => ({
    ...plannedStream(streamOf(zone), 'live', due.get(streamKey(streamOf(zone))) ?? Infinity),
    checkpoint,
  })
  const internalEvents: InternalEvent[] = []
  const places = { streams: 1, backfillStreams: 1 }
  const schedule = new BullmqSchedule(
    {
      connection: serversAt(url),
      keyPrefix,
      role: 'all',
      sinks: ['archive'],
      ...places,
      tickMs: 200,
      ...more,
    },
    {
      clock: systemClock,
      telemetry: { emit: (internalEvent) => void internalEvents.push(internalEvent) },
      fail: async () => undefined,
      plan: async () => zones.map(planned),
      planned: async ({ zone }) => (zones.includes(zone) ? planned(zone) : undefined),
      async pump({ stream }) {
        due.set(streamKey(stream), Infinity)
        return undefined
      },
      now: () => Date.now(),
      heartbeat: async () => undefined,
      housekeep: async () => true,
      reconcile: async () => undefined,
      turned: () => undefined,
      ...deps,
    },
  )
  own({ what: 'schedule', isLeft: () => true, remove: () => schedule.stop(), isFault: false })
  const isPumped = () => [...due.values()].every((atMs) => atMs === Infinity)
  return { schedule, internalEvents, due, isPumped }
}
