import { cancelled, Failure } from '../../../src/domain/failure.ts'
import type { PlannedStream } from '../../../src/domain/plan/plan.ts'
import type { Priority, Stream } from '../../../src/domain/stream.ts'
import type { RedisClient } from '../../../src/redis/connection.ts'
import { plannedStream, streamOf } from '../../contract/schedule/planned.ts'

/** How pumps of a fleet behave. */
export interface Behaviour {
  readonly pages: number
  readonly pageMs: number
  /** When a stream is due again after a pump. */
  readonly restMs: number
  /** These streams never end and do not hear of an abort. */
  readonly hanging: readonly number[]
  /** A page of one of these streams kills its process. */
  readonly deadly: readonly number[]
}

export interface Entry {
  readonly pid: number
  readonly what: 'begin' | 'page' | 'refused' | 'aborted' | 'end'
  readonly zone: number
  readonly priority: Priority
  readonly fence: number
}

/** A page counts only under the latest fence: what a store does, in a few lines. */
const writePage = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then redis.call('RPUSH', KEYS[2], ARGV[4]) return 0 end
redis.call('RPUSH', KEYS[2], ARGV[3])
return 1`

/** Streams whose truth lies in the same Redis, seen alike by every process of a fleet. */
export class FleetWorld {
  readonly #client: RedisClient
  readonly #key: (name: string) => string

  constructor(client: RedisClient, keyPrefix: string) {
    this.#client = client
    this.#key = (name) => `{${keyPrefix}-world}:${name}`
  }

  async add(priority: Priority, zones: readonly number[], dueAtMs = 0): Promise<void> {
    for (const zone of zones) await this.#client.hset(this.#key('due'), `${priority} ${zone}`, dueAtMs)
  }

  async plan(): Promise<PlannedStream[]> {
    const due = await this.#client.hgetall(this.#key('due'))
    return Object.entries(due)
      .map(([field, dueAtMs]) => {
        const [priority, zone] = field.split(' ')
        return plannedStream(
          streamOf(Number(zone)),
          priority === 'live' ? 'live' : 'backfill',
          Number(dueAtMs),
        )
      })
      .sort((left, right) => left.dueAtMs - right.dueAtMs)
  }

  async planned(stream: Stream, priority: Priority): Promise<PlannedStream | undefined> {
    const dueAtMs = await this.#client.hget(this.#key('due'), `${priority} ${stream.zone}`)
    return dueAtMs === null ? undefined : plannedStream(stream, priority, Number(dueAtMs))
  }

  async pump(
    { stream: { zone }, priority }: PlannedStream,
    signal: AbortSignal,
    { pages, pageMs, restMs, hanging, deadly }: Behaviour,
  ): Promise<undefined> {
    const fence = await this.#client.hincrby(this.#key('fence'), String(zone), 1)
    const entry = (what: Entry['what']) =>
      JSON.stringify({ pid: process.pid, what, zone, priority, fence } satisfies Entry)
    const note = (what: Entry['what']) => this.#client.rpush(this.#key('log'), entry(what))
    await note('begin')
    if (deadly.includes(zone)) process.kill(process.pid, 'SIGKILL')
    if (hanging.includes(zone)) await new Promise(() => undefined)
    for (let page = 0; page < pages; page++) {
      await new Promise((resolve) => setTimeout(resolve, pageMs))
      if (signal.aborted) {
        await note('aborted')
        throw cancelled(signal.reason)
      }
      const keys = [this.#key('fence'), this.#key('log')] as const
      const written = await this.#client.eval(
        writePage,
        2,
        ...keys,
        zone,
        fence,
        entry('page'),
        entry('refused'),
      )
      if (written === 0) throw new Failure('cancelled', 'fence_lost', 'another pump took the stream over')
    }
    await this.#client.hset(this.#key('due'), `${priority} ${zone}`, Date.now() + restMs)
    await note('end')
    return undefined
  }

  async log(): Promise<Entry[]> {
    const lines = await this.#client.lrange(this.#key('log'), 0, -1)
    return lines.map((line) => JSON.parse(line) as Entry)
  }
}

/** Pumps that began while another one of the same stream had not ended, those of killed processes left out. */
export function overlaps(log: readonly Entry[], killed: readonly number[] = []): Entry[] {
  const open = new Map<number, Entry>()
  const found: Entry[] = []
  for (const entry of log) {
    const before = open.get(entry.zone)
    if (entry.what === 'begin') {
      if (before !== undefined && !killed.includes(before.pid)) found.push(entry)
      open.set(entry.zone, entry)
    } else if (entry.what !== 'page' && before?.pid === entry.pid) open.delete(entry.zone)
  }
  return found
}
