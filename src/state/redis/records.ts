import { setImmediate } from 'node:timers/promises'
import type { Clock, Telemetry } from '../../ports/process.ts'
import type { ReadRecords, Records, Write, Written } from '../../ports/records.ts'
import type { RedisServers } from '../../redis/connection.ts'
import { loadScript, type ScriptArgument } from '../../redis/script.ts'
import { isTracked } from '../tracked.ts'
import { createLink, type Link } from './link.ts'
import { checkServers } from './server-checks.ts'

/** Larger ones, with their header, take the next size of the allocator, which is 2,560 bytes. */
const roomy = 2_040

/** Fields that one command reads; Redis answers nobody else meanwhile. */
const fieldsAtOnce = 1_000

const scripts = {
  read: new URL('./read-records.lua', import.meta.url),
  write: new URL('./write-records.lua', import.meta.url),
  changes: new URL('./list-changes.lua', import.meta.url),
}

/** The settings of a store in Redis. */
export interface RedisState extends RedisServers {
  readonly keyPrefix: string
}

export interface RedisRecordsOptions {
  readonly state: RedisState
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
  const link = createLink(state, state.keyPrefix, clock)
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
    readRuns: (collection, keys) => readRuns(link, keyOf(collection), keys),
    async *scan(collection, atOnce) {
      // The names come in one answer, and not from a cursor, which is void after a failover.
      const key = keyOf(collection)
      const fields = await link.run((client) => client.hkeys(key))
      for (let from = 0; from < fields.length; from += atOnce) {
        const some = fields.slice(from, from + atOnce)
        const values = await readFields(link, key, some)
        yield some.flatMap((field, index) => {
          const value = values[index]
          return value === undefined ? [] : [[field, value] as const]
        })
        await setImmediate()
      }
    },
    async write(asked) {
      const { keys, args } = callOf(asked, keyOf, nowOf())
      return writtenOf(
        (await link.run((client) => loadScript(client, scripts.write)(keys, args))) as string[],
      )
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

async function readFields(link: Link, hash: string, fields: readonly string[]) {
  const values: (Uint8Array | undefined)[] = []
  for (let from = 0; from < fields.length; from += fieldsAtOnce) {
    const some = fields.slice(from, from + fieldsAtOnce)
    values.push(...(await link.run((client) => client.hmgetBuffer(hash, ...some))).map(bytesOf))
  }
  return values
}

/** The client gives parts of larger buffers, which a value that is kept would keep too. */
function bytesOf(value: Buffer | null): Uint8Array | undefined {
  return value === null ? undefined : new Uint8Array(value)
}

/** Most runs are short: asks for four records of each, then for as many again of those that go on. */
async function readRuns(link: Link, hash: string, keys: readonly string[]): Promise<Uint8Array[][]> {
  const runs = keys.map((key) => ({ key, found: [] as Uint8Array[] }))
  let unread = runs
  for (let length = 0, more = 4; unread.length > 0; length += more, more = length) {
    const places = Array.from({ length: more }, (_, at) => length + at)
    const fields = unread.flatMap(({ key }) => places.map((place) => (place === 0 ? key : `${key}.${place}`)))
    const values = await readFields(link, hash, fields)
    unread = unread.filter(({ found }, index) => {
      const some = values.slice(index * more, (index + 1) * more)
      const end = some.indexOf(undefined)
      found.push(...(some.slice(0, end < 0 ? more : end) as Uint8Array[]))
      return end < 0
    })
  }
  return runs.map(({ found }) => found)
}

/** Keys and arguments of the script. */
function callOf(
  { when, add = [], drop = [], remove = [], put = [], append = [], stamp = [] }: Write,
  keyOf: (name: string) => string,
  nowUs: number | undefined,
) {
  const keys = [keyOf('changes')]
  const places = new Map<string, number>()
  const placeOf = (name: string): number => {
    const known = places.get(name)
    if (known !== undefined) return known
    const place = keys.push(keyOf(name))
    if (isTracked(name)) keys.push(keyOf(`changes:${name}`))
    places.set(name, place)
    return place
  }
  const args: ScriptArgument[] = [nowUs ?? '', when.length]
  for (const { collection, key, is } of when) args.push(placeOf(collection), key, condition(is))
  args.push(add.length)
  for (const { collection, key, by, most = '' } of add) args.push(placeOf(collection), key, by, most)

  const group = (kind: string, name: string, values: readonly ScriptArgument[]): void => {
    const place = placeOf(name)
    args.push(kind, place, isTracked(name) ? place + 1 : 0, values.length)
    for (const value of values) args.push(value)
  }
  for (const name of drop) group('drop', name, [])
  for (const [name, some] of byCollection(remove))
    group(
      'remove',
      name,
      some.map(([, key]) => key),
    )
  for (const [name, some] of byCollection(put))
    group(
      'put',
      name,
      some.flatMap(([, key, value]) => [key, argumentOf(value)]),
    )
  for (const [name, some] of byCollection(append))
    group(
      'append',
      name,
      some.flatMap(([, key, bytes]) => [key, argumentOf(bytes)]),
    )
  for (const [name, some] of byCollection(stamp))
    group(
      'stamp',
      name,
      some.map(([, key]) => key),
    )
  return { keys, args }
}

function byCollection<Item extends readonly [collection: string, ...unknown[]]>(items: readonly Item[]) {
  return Map.groupBy(items, ([collection]) => collection)
}

/** With a sign before the value, so that an empty record is not an absent one. */
function condition(is: Uint8Array | string | undefined): ScriptArgument {
  if (is === undefined) return '-'
  return typeof is === 'string' ? `=${is}` : Buffer.concat([Buffer.from('='), is])
}

function argumentOf(value: Uint8Array | string): ScriptArgument {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

function writtenOf([outcome = '', now, sum]: readonly string[]): Written {
  const nowUs = Number(now)
  if (outcome === 'over') return { outcome, nowUs, sum: Number(sum) }
  if (outcome === 'done' || outcome === 'changed') return { outcome, nowUs }
  throw new TypeError(`the script answered ${outcome}`)
}
