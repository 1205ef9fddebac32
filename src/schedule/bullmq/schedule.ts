import { cancelled } from '../../domain/failure.ts'
import type { StateSnapshot } from '../../domain/snapshot.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { within } from '../../domain/within.ts'
import { promptly } from '../../redis/promptly.ts'
import type { Consumer } from './consumer.ts'
import { openLinks, type Links } from './links.ts'
import type { BullmqScheduleDeps, BullmqScheduleOptions } from './options.ts'
import { createPresence } from './presence.ts'
import { tickQueue } from './queue-names.ts'
import { countJobs } from './queues.ts'
import { createTicks } from './ticks.ts'
import { createWorkerPart } from './worker-part.ts'

export interface BullmqSchedule extends Schedule {
  /** Jobs that wait and that are worked on, by lane, for metrics; none before `start`. Rejects while Redis is away. */
  queues(): Promise<StateSnapshot['queues']>
}

interface Running {
  readonly links: Links
  readonly consumers: readonly Consumer[]
  readonly loops: readonly Promise<void>[]
}

const heartbeatMs = 5_000
const housekeepMs = 600_000
const settleMs = 5_000
const lookMs = 250
/** With giving back what hangs, and closing, this stays under the 5 s that a stop may take. */
const graceMs = 2_000
const loopsMs = 300

/** Ticks, streams and backfills as jobs in Redis, shared by any number of processes of any role. */
export function createBullmqSchedule(
  options: BullmqScheduleOptions,
  deps: BullmqScheduleDeps,
): BullmqSchedule {
  const stopping = new AbortController()
  let running: Running | undefined
  let stopped: Promise<void> | undefined

  async function stop(): Promise<void> {
    stopping.abort(cancelled())
    if (running === undefined) return
    const { links, consumers, loops } = running
    await Promise.all(consumers.map((consumer) => consumer.stop(graceMs)))
    await within(loopsMs, Promise.all(loops), deps.clock)
    await links.close()
  }

  return {
    async start() {
      if (running === undefined && !stopping.signal.aborted) running = run(options, deps, stopping.signal)
    },
    stop() {
      stopped ??= stop()
      return stopped
    },
    async queues() {
      if (running === undefined) return []
      return promptly(countJobs(running.links.queues), deps.clock)
    },
  }
}

function run(options: BullmqScheduleOptions, deps: BullmqScheduleDeps, signal: AbortSignal): Running {
  const links = openLinks(options, deps)
  const { clock } = deps
  const consumers: Consumer[] = []
  const presence = createPresence(options, { ...links, clock, clocks: deps.clocks })
  const loops = [presence.keep(signal), repeat(heartbeatMs, deps.heartbeat)]

  async function repeat(everyMs: number, step: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await step().catch(links.voice)
      await clock.sleep(everyMs, signal).catch(() => undefined)
    }
  }

  if (options.role !== 'worker') {
    const ticks = createTicks(options, { ...deps, ...links, trace: () => deps.tracing?.inject() })
    const consumer = links.consume(tickQueue, {
      slots: 1,
      loop: 'tick',
      async work() {
        await ticks.tick().catch((error: unknown) => deps.telemetry.emit({ name: 'TickFailed', error }))
        return { as: 'done' }
      },
    })
    consumers.push(consumer)
    loops.push(
      ticks.reconcile(signal),
      repeat(housekeepMs, () => deps.housekeep(signal)),
    )
  }
  if (options.role !== 'scheduler') {
    const part = createWorkerPart(links)
    consumers.push(...part.consumers)
    loops.push(
      repeat(lookMs, part.look),
      repeat(settleMs, () => deps.settle(signal)),
    )
  }
  for (const consumer of consumers) consumer.start()
  return { links, consumers, loops }
}
