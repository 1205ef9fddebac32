import { hostname } from 'node:os'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { Clock } from '../ports/process.ts'
import type { RedisClient } from './connection.ts'
import { loadScript, promptly } from './script.ts'

export type Role = WorkerStatus['role']

/** The API's clock as this process knows it, for processes that send the API no requests. */
export interface SharedClocks {
  /** The API's present time, for each account whose time this process knows. */
  readonly told: () => ReadonlyMap<string, number>
  /** Called with the offset of an account's API clock to this host's steady clock. */
  readonly learn: (account: string, offsetMs: number) => void
}

interface Said {
  readonly role: Role
  readonly host: string
  readonly pid: number
  readonly startedAtMs: number
  /** By account: the API's time minus that of the Redis server, which all processes share. */
  readonly aheadMs: Readonly<Record<string, number>>
}

interface ProcessRecordOptions {
  readonly keyPrefix: string
  /** The holder's id: the record also keeps the holder's streams. */
  readonly id: string
  readonly role: Role
}

const forgottenAfterMs = 20_000
const script = new URL('./tell-process.lua', import.meta.url)

interface RecordDeps {
  readonly client: RedisClient
  readonly clock: Clock
}

interface Heard {
  readonly id: string
  readonly said: Said
  readonly heardAtMs: number
}

interface Answer {
  /** The Redis server's time. */
  readonly atMs: number
  readonly processes: readonly Heard[]
}

/** `own`: the process and its record, which is empty once it has ended; without it this only asks. */
async function ask(
  keyPrefix: string,
  { client }: Pick<RecordDeps, 'client'>,
  own: readonly [id: string, text: string] = ['', ''],
): Promise<Answer> {
  const keys = [`{${keyPrefix}}:processes`, `{${keyPrefix}}:holders`]
  const [at, ...rest] = (await loadScript(client, script)(keys, [...own, forgottenAfterMs])) as string[]
  const processes = rest.flatMap((id, index) =>
    index % 3 === 0
      ? [{ id, said: JSON.parse(rest[index + 1]!) as Said, heardAtMs: Number(rest[index + 2]) }]
      : [],
  )
  return { atMs: Number(at), processes }
}

/** The record of a process in Redis: that it is alive, its role, and what it knows of the API's clock. */
export interface ProcessRecord {
  /** Call it every 5 s. Rejects while Redis is away. */
  tell(clocks: SharedClocks): Promise<void>
  /** Removes the record when the process ends. */
  remove(): Promise<void>
}

export function createProcessRecord(
  { keyPrefix, id, role }: ProcessRecordOptions,
  { client, clock }: RecordDeps,
): ProcessRecord {
  const startedAtMs = clock.now()
  /** The Redis server's clock minus this host's steady one. */
  let redisAheadMs: number | undefined

  async function write(text: string): Promise<readonly Heard[]> {
    const beganMs = clock.steady()
    const { atMs, processes } = await ask(keyPrefix, { client }, [id, text])
    redisAheadMs = atMs - (beganMs + clock.steady()) / 2
    return processes
  }

  function saying({ told }: SharedClocks): string {
    const shiftMs = clock.steady() + (redisAheadMs ?? 0)
    const known = redisAheadMs === undefined ? [] : [...told()]
    const aheadMs = Object.fromEntries(known.map(([account, atMs]) => [account, Math.round(atMs - shiftMs)]))
    return JSON.stringify({ role, host: hostname(), pid: process.pid, startedAtMs, aheadMs } satisfies Said)
  }

  return {
    async tell(clocks) {
      // The first answer gives the server's time, which the offsets are relative to.
      if (redisAheadMs === undefined) await write(saying(clocks))
      const processes = await write(saying(clocks))
      // A process that sends requests to the API knows its time better.
      if (role !== 'scheduler') return
      for (const { said } of processes)
        for (const [account, aheadMs] of Object.entries(said.aheadMs))
          clocks.learn(account, aheadMs + (redisAheadMs ?? 0))
    },
    remove: async () => void (await write('')),
  }
}

/** The processes with a recent record, for `status`; writes no record itself. Throws while Redis is away. */
export async function livingProcesses(keyPrefix: string, deps: RecordDeps): Promise<WorkerStatus[]> {
  const { atMs, processes } = await promptly(ask(keyPrefix, deps), deps.clock)
  return byAge(processes).map(({ said, heardAtMs }) => {
    const { role, pid, host } = said
    const startedAt = new Date(said.startedAtMs).toISOString()
    const seenSeconds = Math.max(0, Math.round((atMs - heardAtMs) / 1000))
    const name = `process ${pid} on ${host} since ${startedAt}, seen ${seenSeconds} s ago`
    return { role, name, pid, host, startedAt }
  })
}

/**
 * The id of the process that schedules for the longest time: work that one process of a fleet does is its work. Throws
 * while Redis is away.
 */
export async function oldestScheduler(keyPrefix: string, deps: RecordDeps): Promise<string | undefined> {
  const { processes } = await promptly(ask(keyPrefix, deps), deps.clock)
  return byAge(processes).find(({ said }) => said.role !== 'worker')?.id
}

function byAge(processes: readonly Heard[]): Heard[] {
  return processes.toSorted(
    (one, other) => one.said.startedAtMs - other.said.startedAtMs || (one.id < other.id ? -1 : 1),
  )
}
