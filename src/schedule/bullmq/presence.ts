import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { WorkerStatus } from '../../domain/status.ts'
import type { Clock } from '../../ports/clock.ts'
import type { RedisClient } from '../../redis/connection.ts'
import { loadScript } from '../../redis/script.ts'
import { promptly } from '../../redis/promptly.ts'
import { queuePrefix } from './queue-names.ts'
import type { Voice } from './voice.ts'

export type Role = WorkerStatus['role']

/** The API's clock as this process knows it, for processes that ask the API nothing. */
export interface SharedClocks {
  /** The API's time now, of each account that has told it to this process. */
  readonly told: () => ReadonlyMap<string, number>
  /** Called with how far the API's clock of an account is ahead of this host's. */
  readonly learn: (account: string, offsetMs: number) => void
}

export interface Presence {
  /** Tells that this process lives, until the signal aborts; then that it has ended. */
  keep(signal: AbortSignal): Promise<void>
}

interface Said {
  readonly role: Role
  readonly host: string
  readonly pid: number
  readonly startedAtMs: number
  /** By account: the API's time minus that of the Redis server, which all processes share. */
  readonly aheadMs: Readonly<Record<string, number>>
}

const tellEveryMs = 5_000
const forgottenAfterMs = 20_000

export function createPresence(
  { keyPrefix, role }: { readonly keyPrefix: string; readonly role: Role },
  {
    client,
    clock,
    voice,
    clocks,
  }: {
    readonly client: RedisClient
    readonly clock: Clock
    readonly voice: Voice
    readonly clocks: SharedClocks | undefined
  },
): Presence {
  const run = loadScript(client, script)
  const id = randomUUID()
  const startedAtMs = clock.now()
  /** The Redis server's clock minus this host's. */
  let redisAheadMs: number | undefined

  function saying(): string {
    const told = redisAheadMs === undefined ? [] : [...(clocks?.told() ?? [])]
    const aheadMs = Object.fromEntries(
      told.map(([account, atMs]) => [account, Math.round(atMs - clock.now() - (redisAheadMs ?? 0))]),
    )
    return JSON.stringify({ role, host: hostname(), pid: process.pid, startedAtMs, aheadMs } satisfies Said)
  }

  async function tell(text: string): Promise<void> {
    const beganMs = clock.now()
    const { atMs, processes } = parse(await run(keysOf(keyPrefix), [id, text, forgottenAfterMs]))
    redisAheadMs = atMs - (beganMs + clock.now()) / 2
    // Who asks the API itself knows better.
    if (role !== 'scheduler') return
    for (const { said } of processes)
      for (const [account, aheadMs] of Object.entries(said.aheadMs))
        clocks?.learn(account, aheadMs + redisAheadMs)
  }

  return {
    async keep(signal) {
      // Only its answer tells the server's time, and with it how far the API is ahead of that.
      await tell(saying()).catch(voice)
      while (!signal.aborted) {
        await tell(saying()).catch(voice)
        await clock.sleep(tellEveryMs, signal).catch(() => undefined)
      }
      await tell('').catch(() => undefined)
    },
  }
}

/** The processes that were heard from lately, for `status`; asks without being one of them. Throws while Redis is away. */
export async function livingProcesses(
  keyPrefix: string,
  { client, clock }: { readonly client: RedisClient; readonly clock: Clock },
): Promise<WorkerStatus[]> {
  // Nobody has that id: only what is there is read, and what is forgotten goes.
  const asked = loadScript(client, script)(keysOf(keyPrefix), ['nobody', '', forgottenAfterMs])
  const { atMs, processes } = parse(await promptly(asked, clock))
  return processes
    .toSorted((left, right) => left.said.startedAtMs - right.said.startedAtMs)
    .map(({ said, seenAtMs }) => {
      const since = new Date(said.startedAtMs).toISOString()
      const seenSeconds = Math.max(0, Math.round((atMs - seenAtMs) / 1000))
      return {
        role: said.role,
        name: `process ${said.pid} on ${said.host} since ${since}, seen ${seenSeconds} s ago`,
      }
    })
}

const script = new URL('./presence.lua', import.meta.url)

function keysOf(keyPrefix: string): string[] {
  return [`${queuePrefix(keyPrefix)}:processes`, `${queuePrefix(keyPrefix)}:heard`]
}

function parse(answer: unknown): { atMs: number; processes: { said: Said; seenAtMs: number }[] } {
  const [atText = '0', ...rest] = Array.isArray(answer) ? answer.map(String) : []
  const processes: { said: Said; seenAtMs: number }[] = []
  for (let at = 0; at + 2 < rest.length; at += 3) {
    const said = readSaid(rest[at + 1] ?? '')
    if (said !== undefined) processes.push({ said, seenAtMs: Number(rest[at + 2]) })
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
