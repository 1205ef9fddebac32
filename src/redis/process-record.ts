import { hostname } from 'node:os'
import type { WorkerStatus } from '../domain/plan/status.ts'
import type { Clock } from '../ports/clock.ts'
import type { RedisClient } from './connection.ts'
import { promptly } from './promptly.ts'
import { loadScript, type Script } from './script.ts'

export type Role = WorkerStatus['role']

/** The API's clock as this process knows it, for processes that ask the API nothing. */
export interface SharedClocks {
  /** The API's time now, of each account that has told it to this process. */
  readonly told: () => ReadonlyMap<string, number>
  /** Called with how far the API's clock of an account is ahead of this host's. */
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

export interface ProcessRecordOptions {
  readonly keyPrefix: string
  /** The holder's: what keeps the process known keeps its streams its own. */
  readonly id: string
  readonly role: Role
}

const forgottenAfterMs = 20_000

/** The one record of a process in Redis: that it lives, which role it has, and what it knows of the API's clock. */
export class ProcessRecord {
  readonly #options: ProcessRecordOptions
  readonly #clock: Clock
  readonly #script: Script
  readonly #startedAtMs: number
  /** The Redis server's clock minus this host's. */
  #redisAheadMs: number | undefined

  constructor(options: ProcessRecordOptions, { client, clock }: RecordDeps) {
    this.#options = options
    this.#clock = clock
    this.#script = loadScript(client, script)
    this.#startedAtMs = clock.now()
  }

  /** To be called every 5 s. Rejects while Redis is away. */
  async tell(clocks: SharedClocks): Promise<void> {
    // Only an answer tells the server's time, and with it how far the API is ahead of that.
    if (this.#redisAheadMs === undefined) await this.#write(this.#saying(clocks))
    const processes = await this.#write(this.#saying(clocks))
    // Who asks the API itself knows better.
    if (this.#options.role !== 'scheduler') return
    for (const { said } of processes)
      for (const [account, aheadMs] of Object.entries(said.aheadMs))
        clocks.learn(account, aheadMs + (this.#redisAheadMs ?? 0))
  }

  /** Tells that the process has ended. */
  async remove(): Promise<void> {
    await this.#write('')
  }

  #saying(clocks: SharedClocks): string {
    const redisAheadMs = this.#redisAheadMs
    const told = redisAheadMs === undefined ? [] : [...clocks.told()]
    const aheadMs = Object.fromEntries(
      told.map(([account, atMs]) => [account, Math.round(atMs - this.#clock.now() - redisAheadMs!)]),
    )
    const { role } = this.#options
    const startedAtMs = this.#startedAtMs
    return JSON.stringify({ role, host: hostname(), pid: process.pid, startedAtMs, aheadMs } satisfies Said)
  }

  async #write(text: string): Promise<Heard[]> {
    const beganMs = this.#clock.now()
    const { keyPrefix, id } = this.#options
    const { atMs, processes } = parse(await this.#script(keysOf(keyPrefix), [id, text, forgottenAfterMs]))
    this.#redisAheadMs = atMs - (beganMs + this.#clock.now()) / 2
    return processes
  }
}

export interface RecordDeps {
  readonly client: RedisClient
  readonly clock: Clock
}

/** The processes that were heard from lately, for `status`; asks without being one of them. Throws while Redis is away. */
export async function livingProcesses(
  keyPrefix: string,
  { client, clock }: RecordDeps,
): Promise<WorkerStatus[]> {
  const asked = loadScript(client, script)(keysOf(keyPrefix), ['', '', forgottenAfterMs])
  const { atMs, processes } = parse(await promptly(asked, clock))
  return processes
    .toSorted((left, right) => left.said.startedAtMs - right.said.startedAtMs)
    .map(({ said, heardAtMs }) => {
      const since = new Date(said.startedAtMs).toISOString()
      const seenSeconds = Math.max(0, Math.round((atMs - heardAtMs) / 1000))
      return {
        role: said.role,
        name: `process ${said.pid} on ${said.host} since ${since}, seen ${seenSeconds} s ago`,
      }
    })
}

interface Heard {
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
    if (said !== undefined) processes.push({ said, heardAtMs: Number(rest[at + 2]) })
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
