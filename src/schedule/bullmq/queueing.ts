import { streamKey, type Lane, type Stream } from '../../domain/stream.ts'
import type { RedisClient } from '../../redis/connection.ts'
import { loadScript } from '../../redis/script.ts'
import { forecastForMs, readForecast, type Forecast } from './forecast.ts'
import { jobIdOf } from './job-id.ts'
import type { TraceCarrier } from './job-data.ts'
import { addJobs, type Queued, type Queues } from './queues.ts'
import { queuePrefix } from './queue-names.ts'

export interface Queueing {
  /** Queues what is due, in its order. A stream is in one lane at a time, and live comes before backfill. */
  queue(due: readonly Queued[], trace: TraceCarrier | undefined): Promise<void>
  announce(forecast: Forecast): Promise<void>
  /** Of these streams, those that a live job waits for while a backfill works on them. */
  wantedLive(streams: readonly Stream[]): Promise<Stream[]>
  /**
   * What of the live lane comes before backfills, streams of those sinks left out; undefined where no backfill waits, and
   * this process is at none.
   */
  look(backfilling: number, hanging: readonly string[]): Promise<LiveLane | undefined>
  /** Brings the first job that is not held to the front of its lane; false where there is none. */
  bringForward(lane: Lane, held: Held): Promise<boolean>
}

export interface LiveLane {
  /** Of which a live stream waits for a place. */
  readonly accounts: ReadonlySet<string>
  /** Undefined where no tick came for long. */
  readonly forecast?: Forecast
  readonly forecastAgeMs: number
}

/** Jobs that may not start now. */
export interface Held {
  readonly sinks: readonly string[]
  readonly accounts: readonly string[]
}

/** A tick that finds the stream still busy tells it again. */
const wantedForMs = 5_000

export function createQueueing(
  { lanes, ...queues }: Queues,
  client: RedisClient,
  keyPrefix: string,
): Queueing {
  const key = (name: string) => `${queuePrefix(keyPrefix)}:${name}`
  const wantedKey = (stream: Stream) => key(`wanted:${streamKey(stream)}`)
  const waitingKey = (lane: Lane) => lanes[lane].toKey('wait')
  const runLook = loadScript(client, new URL('./look-at-lanes.lua', import.meta.url))
  const runBring = loadScript(client, new URL('./bring-forward.lua', import.meta.url))

  async function idsOf(lane: Lane): Promise<{ waiting: Set<string>; active: Set<string> }> {
    const [waiting, active] = await Promise.all([
      client.lrange(waitingKey(lane), 0, -1),
      client.lrange(lanes[lane].toKey('active'), 0, -1),
    ])
    return { waiting: new Set(waiting), active: new Set(active) }
  }

  return {
    async queue(due, trace) {
      const [live, backfill] = await Promise.all([idsOf('live'), idsOf('backfill')])
      const wanted = new Set<string>()
      const added: Record<Lane, Queued[]> = { live: [], backfill: [] }
      for (const each of due) {
        if (each.lane !== 'live') continue
        const id = jobIdOf(each.account, each.stream)
        wanted.add(id)
        // A backfill that waits gives its stream away; one that a worker has is told to yield after its page, and the
        // next tick queues the stream live.
        const isBusy =
          backfill.active.has(id) || (backfill.waiting.has(id) && (await lanes.backfill.remove(id)) !== 1)
        if (isBusy) await client.set(wantedKey(each.stream), '1', 'PX', wantedForMs)
        // What is queued already need not be added again.
        else if (!live.waiting.has(id) && !live.active.has(id)) added.live.push(each)
      }
      for (const each of due) {
        const id = jobIdOf(each.account, each.stream)
        const isQueued = [live.waiting, live.active, backfill.waiting, backfill.active].some((ids) =>
          ids.has(id),
        )
        if (each.lane === 'backfill' && !wanted.has(id) && !isQueued) added.backfill.push(each)
      }
      await addJobs({ lanes, ...queues }, 'live', added.live, trace)
      await addJobs({ lanes, ...queues }, 'backfill', added.backfill, trace)
    },
    async announce(forecast) {
      await client.set(key('forecast'), JSON.stringify(forecast), 'PX', forecastForMs)
    },
    async wantedLive(streams) {
      const asked = streams.map(async (stream) =>
        (await client.exists(wantedKey(stream))) > 0 ? [stream] : [],
      )
      return (await Promise.all(asked)).flat()
    },
    async look(backfilling, hanging) {
      const keys = [waitingKey('live'), waitingKey('backfill'), key('forecast')]
      const answer = await runLook(keys, [backfilling, ...hanging.map(encodeURIComponent)])
      const [text, leftMs, ...accounts] = Array.isArray(answer) ? answer.map(String) : []
      if (text === undefined) return undefined
      const forecast = readForecast(text)
      return {
        accounts: new Set(accounts.map(decodeURIComponent)),
        ...(forecast !== undefined && { forecast }),
        forecastAgeMs: forecastForMs - Number(leftMs),
      }
    },
    async bringForward(lane, { sinks, accounts }) {
      const args = [sinks.length, ...[...sinks, ...accounts].map(encodeURIComponent)]
      return (await runBring([waitingKey(lane)], args)) === 1
    },
  }
}
