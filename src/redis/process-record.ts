import { hostname } from 'node:os'
import type { WorkerStatus } from '../domain/status/status.ts'
import type { Clock } from '../ports/process.ts'
import type { RedisClient } from './connection.ts'
import { loadScript, promptly, type Script } from './script.ts'

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

/** The record of a process in Redis: that it is alive, its role, and what it knows of the API's clock. */
export class ProcessRecord {
  readonly #options: ProcessRecordOptions
  readonly #clock: Clock
  readonly #script: Script
  readonly #startedAtMs: number
  /** The Redis server's clock minus this host's steady one. */
  #redisAheadMs: number | undefined

  constructor(options: ProcessRecordOptions, { client, clock }: RecordDeps) {
    this.#options = options
    this.#clock = clock
    this.#script = loadScript(client, script)
    this.#startedAtMs = clock.now()
  }

  /** Call it every 5 s. Rejects while Redis is away. */
  async tell(clocks: SharedClocks): Promise<void> {
    // The first answer gives the server's time, which the offsets are relative to.
    if (this.#redisAheadMs === undefined) await this.#write(this.#saying(clocks))
    const processes = await this.#write(this.#saying(clocks))
    // A process that sends requests to the API knows its time better.
    if (this.#options.role !== 'scheduler') return
    for (const { said } of processes)
      for (const [account, aheadMs] of Object.entries(said.aheadMs))
        clocks.learn(account, aheadMs + (this.#redisAheadMs ?? 0))
  }

  /** Removes the record when the process ends. */
  async remove(): Promise<void> {
    await this.#write('')
  }

  #saying(clocks: SharedClocks): string {
    const redisAheadMs = this.#redisAheadMs
    const told = redisAheadMs === undefined ? [] : [...clocks.told()]
    const aheadMs = Object.fromEntries(
      told.map(([account, atMs]) => [account, Math.round(atMs - this.#clock.steady() - redisAheadMs!)]),
    )
    const { role } = this.#options
    const startedAtMs = this.#startedAtMs
    return JSON.stringify({ role, host: hostname(), pid: process.pid, startedAtMs, aheadMs } satisfies Said)
  }

  async #write(text: string): Promise<Heard[]> {
    const beganMs = this.#clock.steady()
    const { keyPrefix, id } = this.#options
    const { atMs, processes } = parse(await this.#script(keysOf(keyPrefix), [id, text, forgottenAfterMs]))
    this.#redisAheadMs = atMs - (beganMs + this.#clock.steady()) / 2
    return processes
  }
}

interface RecordDeps {
  readonly client: RedisClient
  readonly clock: Clock
}

/** The processes with a recent record, for `status`; writes no record itself. Throws while Redis is away. */
export async function livingProcesses(
  keyPrefix: string,
  { client, clock }: RecordDeps,
): Promise<WorkerStatus[]> {
  const asked = loadScript(client, script)(keysOf(keyPrefix), ['', '', forgottenAfterMs])
  const { atMs, processes } = parse(await promptly(asked, clock))
  return processes
    .toSorted((left, right) => left.said.startedAtMs - right.said.startedAtMs)
    .map(({ said, heardAtMs }) => {
      const { role, pid, host } = said
      const startedAt = new Date(said.startedAtMs).toISOString()
      const seenSeconds = Math.max(0, Math.round((atMs - heardAtMs) / 1000))
      return {
        role,
        name: `process ${pid} on ${host} since ${startedAt}, seen ${seenSeconds} s ago`,
        pid,
        host,
        startedAt,
      }
    })
}

/**
 * The id of the process that schedules for the longest time: work that one process of a fleet does is its work. Throws
 * while Redis is away.
 */
export async function oldestScheduler(
  keyPrefix: string,
  { client, clock }: RecordDeps,
): Promise<string | undefined> {
  const asked = loadScript(client, script)(keysOf(keyPrefix), ['', '', forgottenAfterMs])
  const { processes } = parse(await promptly(asked, clock))
  const [oldest] = processes
    .filter(({ said }) => said.role !== 'worker')
    .toSorted((one, other) => one.said.startedAtMs - other.said.startedAtMs || (one.id < other.id ? -1 : 1))
  return oldest?.id
}

interface Heard {
  readonly id: string
  readonly said: Said
  readonly heardAtMs: number
}

const script = new URL('./tell-process.lua', import.meta.url)

function keysOf(keyPrefix: string): string[] {
  return [`{${keyPrefix}}:processes`, `{${keyPrefix}}:holders`]
}

function parse(answer: unknown): { atMs: number; processes: Heard[] } {
  const [atText = '0', ...rest] = Array.isArray(answer) ? answer.map(String) : []
  const processes: Heard[] = []
  for (let at = 0; at + 2 < rest.length; at += 3) {
    const said = readSaid(rest[at + 1] ?? '')
    if (said !== undefined) processes.push({ id: rest[at]!, said, heardAtMs: Number(rest[at + 2]) })
  }
  return { atMs: Number(atText), processes }
}

function readSaid(text: string): Said | undefined {
  try {
    const { role, host, pid, startedAtMs, aheadMs } = JSON.parse(text) as Record<string, unknown>
    if (role !== 'all' && role !== 'scheduler' && role !== 'worker') return undefined
    if (typeof host !== 'string' || typeof pid !== 'number' || typeof startedAtMs !== 'number')
      return undefined
    const ahead = Object.entries(typeof aheadMs === 'object' && aheadMs !== null ? aheadMs : {})
    const known = ahead.filter((entry): entry is [string, number] => Number.isFinite(entry[1]))
    return { role, host, pid, startedAtMs, aheadMs: Object.fromEntries(known) }
  } catch {
    return undefined
  }
}
