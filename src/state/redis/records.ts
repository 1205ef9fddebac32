import { setImmediate } from 'node:timers/promises'
import type { Clock, Telemetry } from '../../ports/process.ts'
import { isTracked, type Condition, type ReadRecords, type Records, type Write } from '../../ports/records.ts'
import type { RedisServers } from '../../domain/redis-servers.ts'
import { loadScript, type ScriptArgument } from '../../redis/connection.ts'
import { createLink, checkServers } from './link.ts'

/** Larger ones, with their header, take the next size of the allocator, which is 2,560 bytes. */
const roomy = 2_040

const scripts = {
  read: new URL('./read-records.lua', import.meta.url),
  write: new URL('./write-records.lua', import.meta.url),
  changes: new URL('./list-changes.lua', import.meta.url),
}

export interface RedisRecordsOptions {
  readonly state: RedisServers
  readonly clock: Clock
  /** Gets warnings about a server. */
  readonly telemetry: Telemetry
  /** Replaces the clock of Redis; ms since the epoch. For tests. */
  readonly redisNow?: () => number
}

/**
 * Connects, and checks whether the server can keep a store. Throws `store_unavailable` when no server answers within
 * seconds, and `store_refuses`.
 */
export async function openRedisRecords(options: RedisRecordsOptions): Promise<Records> {
  const { state, clock, telemetry, redisNow } = options
  const link = createLink(state, clock)
  try {
    await checkServers(link, state.topology, telemetry)
  } catch (error) {
    link.close()
    throw error
  }
  // One hash tag for all keys of a deployment, so that a script may change any of them in one step.
  const keyOf = (name: string): string => `{${state.keyPrefix}}:${name}`
  const nowOf = (): number | undefined => redisNow && Math.floor(redisNow() * 1_000)
  return {
    roomy,
    async read<Name extends string>(asked: Readonly<Record<Name, readonly string[]>>) {
      const collections = Object.entries<readonly string[]>(asked)
      const keys = collections.map(([name]) => keyOf(name))
      const args = collections.flatMap(([, fields]) => [fields.length, ...fields])
      const answer = await link.run((client) => loadScript(client, scripts.read, 'bytes')(keys, args))
      const [now, ...values] = answer as [Buffer, ...(Buffer | null)[][]]
      const found = collections.map(([name], index) => [name, values[index]!.map(bytesOf)] as const)
      return {
        nowUs: nowOf() ?? Number(now),
        found: Object.fromEntries(found) as unknown as ReadRecords<Name>['found'],
      }
    },
    async *scan(collection, atOnce) {
      // The names come in one answer, and not from a cursor, which is void after a failover.
      const key = keyOf(collection)
      const fields = await link.run((client) => client.hkeys(key))
      for (let from = 0; from < fields.length; from += atOnce) {
        const some = fields.slice(from, from + atOnce)
        const values = await link.run((client) => client.hmgetBuffer(key, ...some))
        yield some.flatMap((field, index) => {
          const value = bytesOf(values[index]!)
          return value === undefined ? [] : [[field, value] as const]
        })
        await setImmediate()
      }
    },
    async write(asked) {
      const { keys, args } = callOf(asked, keyOf, nowOf())
      return (await link.run((client) => loadScript(client, scripts.write)(keys, args))) === 1
    },
    async changes(collection, since) {
      const keys = [keyOf('changes'), keyOf(collection), keyOf(`changes:${collection}`)]
      const answer = await link.run((client) => loadScript(client, scripts.changes)(keys, [since]))
      const [latest, sum, list] = answer as [string, string, string[]]
      const changed = list.flatMap((key, at) => (at % 2 === 0 ? [[key, Number(list[at + 1])] as const] : []))
      return { latest: Number(latest), sum: BigInt(sum), changed }
    },
    reclaim: async () => undefined,
    close: async () => link.close(),
  }
}

/** The client gives parts of larger buffers, which a value that is kept would keep too. */
function bytesOf(value: Buffer | null): Uint8Array | undefined {
  return value === null ? undefined : new Uint8Array(value)
}

/** Keys and arguments of the script. */
function callOf(
  { when, add = [], drop = [], remove = [], put = [], append = [], stamp = [] }: Write,
  keyOf: (name: string) => string,
  nowUs: number | undefined,
) {
  const keys = [keyOf('changes')]
  const placeOf = (name: string): number => {
    if (keys.includes(keyOf(name))) return keys.indexOf(keyOf(name)) + 1
    const place = keys.push(keyOf(name))
    if (isTracked(name)) keys.push(keyOf(`changes:${name}`))
    return place
  }
  const args: ScriptArgument[] = [nowUs ?? '', when.length]
  for (const each of when) args.push(placeOf(each.collection), each.key, conditionOf(each))
  const added = add.map(([collection, key, by]) => [collection, key, String(by)] as const)
  const parts = { add: added, drop: drop.map((name) => [name, ''] as const), remove, put, append, stamp }
  for (const [kind, items] of Object.entries<readonly Item[]>(parts))
    for (const [name, some] of Map.groupBy(items, ([collection]) => collection)) {
      const place = placeOf(name)
      const values = some.flatMap(([, ...own]) => own.map(argumentOf))
      args.push(kind, place, isTracked(name) ? place + 1 : 0, values.length)
      for (const value of values) args.push(value)
    }
  return { keys, args }
}

type Item = readonly [collection: string, ...values: readonly (string | Uint8Array)[]]

/** With a sign before the value, so that an empty record is not an absent one. */
function conditionOf(condition: Condition): ScriptArgument {
  if ('atMost' in condition) return `<${condition.atMost}`
  const { is } = condition
  if (is === undefined) return '-'
  return typeof is === 'string' ? `=${is}` : Buffer.concat([Buffer.from('='), is])
}

function argumentOf(value: Uint8Array | string): ScriptArgument {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
