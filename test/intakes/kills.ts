import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ObjectStore } from '../../src/sinks/objects/store.ts'
import { endOf, logged, readableDays, zones, type Workplace } from '../e2e/workplace.ts'
import type { TestProcess } from '../setup/processes.ts'
import { startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import type { SinkSettings } from './intake.ts'
import { idsOf, placeFor } from './place.ts'
import { eventsIn, expectEachOnce, objectsIn } from './servers/bucket.ts'

/** A bucket or container. */
export interface Destination {
  readonly sink: SinkSettings
  readonly client: ObjectStore
}

/** Another worker takes the streams of a dead or frozen one over within a minute. */
const takeover = { timeoutMs: 180_000 }
const longest = 1_800_000

/** Tests of a store: each event is in one object of each form, whatever happens to those who ship. */
export function testExactlyOnce(fresh: () => Promise<Destination>, server: () => TestProcess): void {
  const begin = async (days: number, redis?: typeof startRedis, more: SinkSettings = {}) => {
    const forms = ['ndjson', 'parquet']
    const destinations = await Promise.all(forms.map(fresh))
    const small = { everySeconds: 0.2, maxBytes: 65_536, ...more }
    const sinks = destinations.map(({ sink }, at) => ({
      name: forms[at],
      file: forms[at],
      ...small,
      ...sink,
    }))
    const store = await redis?.()
    const state = store && { state: { redis: { url: store.url, keyPrefix: store.keyPrefix } } }
    const place = await placeFor({}, { days })
    place.configure({ sinks, server: { port: 0 }, ...state })
    return new Shipping(
      place,
      destinations.map(({ client }) => client),
    )
  }

  test.each([
    ['one process', 20, undefined],
    ['two workers over Redis', 8, startRedis],
  ] as const)(
    'each event is there once although the shippers were killed again and again: %s',
    async (_what, kills, redis) => await kill(await begin(20, redis), kills, redis !== undefined),
    longest,
  )

  test(
    'each event is there once although workers over Redis and the server froze, one after the other',
    async () => await freeze(await begin(20, startRedis, { timeoutSeconds: 2 }), server()),
    longest,
  )

  test('each event is there once although the state was set back, and a shipper was killed then', async () =>
    await setBack(await begin(100)))
}

/** Processes that ship to lines and to Parquet. */
class Shipping {
  readonly place: Workplace
  readonly #clients: readonly ObjectStore[]
  readonly children: TestProcess[] = []

  constructor(place: Workplace, clients: readonly ObjectStore[]) {
    this.place = place
    this.#clients = clients
  }

  start(): TestProcess {
    return this.children[this.children.push(this.place.start(['run'])) - 1]!
  }

  append(events: number): void {
    for (const zone of zones) this.place.simulator.append(zone, readableDays()[2], events)
  }

  said(): string {
    return this.children.map((child) => child.stderr()).join('')
  }

  /** Whether an earlier try's object was found, in each form. */
  hasAdopted(): boolean {
    const adopted = logged(this.said()).filter(({ event }) => event === 'ObjectAdopted')
    return new Set(adopted.map(({ sink }) => sink)).size === this.#clients.length
  }

  async objects(): Promise<number> {
    const counts = await Promise.all(this.#clients.map(objectsIn))
    return counts.reduce((sum, count) => sum + count)
  }

  async untilMore(than: number): Promise<void> {
    const what = () => `an object: ${this.said()}`
    await waitFor(async () => (await this.objects()) > than, { ...takeover, everyMs: 1, what })
  }

  async untilAll(): Promise<void> {
    const areAll = async (client: ObjectStore) =>
      new Set((await eventsIn(client)).ids).size === idsOf(this.place).length
    const what = () => `all events: ${this.said()}`
    for (const client of this.#clients)
      await waitFor(() => areAll(client), { ...takeover, everyMs: 500, what })
  }

  /** Ships the rest; then each event is there once. */
  async expectEachOnce(): Promise<void> {
    const last = this.place.start(['run', '--once'])
    this.children.push(last)
    const { code, stderr } = await endOf(last)
    expect(code, stderr).toBe(0)
    for (const client of this.#clients) expectEachOnce(await eventsIn(client), idsOf(this.place))
  }
}

async function kill(shipping: Shipping, kills: number, areMany: boolean): Promise<void> {
  const running = areMany ? [shipping.start()] : []
  // One process is killed until it was between an object and its commit, too: else nothing was tried here. Over Redis the
  // work of a dead one waits for its lock to expire: there the kills are counted alone.
  const isTried = () => areMany || shipping.hasAdopted()
  for (let round = 0; round < kills || (!isTried() && round < 5 * kills); round++) {
    shipping.append(20)
    const before = await shipping.objects()
    running.push(shipping.start())
    await shipping.untilMore(before + (round % 2))
    await running.shift()!.kill('SIGKILL')
  }
  for (const each of running) await each.kill('SIGKILL')
  await shipping.expectEachOnce()
  expect(isTried()).toBe(true)
}

async function freeze(shipping: Shipping, server: TestProcess): Promise<void> {
  const workers = [shipping.start(), shipping.start()]
  for (const frozen of workers) {
    shipping.append(200)
    await shipping.untilMore(await shipping.objects())
    await frozen.kill('SIGSTOP')
    // Whichever it was that had the stream: the other one gets to all of it.
    await shipping.untilAll()
    await frozen.kill('SIGCONT')
  }
  const timeouts = () => shipping.said().split('"code":"timeout"').length
  shipping.append(200)
  const before = timeouts()
  await shipping.untilMore(await shipping.objects())
  await server.kill('SIGSTOP')
  await waitFor(() => timeouts() > before, { what: () => `a request that times out: ${shipping.said()}` })
  await server.kill('SIGCONT')
  for (const worker of workers) expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  await shipping.expectEachOnce()
}

async function setBack(shipping: Shipping): Promise<void> {
  const { place } = shipping
  const { database, folder } = place
  const older = join(folder, 'older.db')
  await shipping.expectEachOnce()
  const { code, stderr } = await place.ended(['state', 'backup', older])
  expect(code, stderr).toBe(0)
  for (let run = 0; run < 2; run++) {
    shipping.append(40)
    await shipping.expectEachOnce()
  }
  for (const end of ['', '-wal', '-shm']) rmSync(database + end, { force: true })
  copyFileSync(older, database)
  // So the same numbers would be other objects now.
  shipping.append(40)
  const killed = place.entry(['--once', '--kill', 'after:deliver:1'])
  shipping.children.push(killed)
  expect((await endOf(killed)).signal).toBe('SIGKILL')
  await shipping.expectEachOnce()
  expect(shipping.hasAdopted()).toBe(true)
  const audited = await place.ended(['audit', '--deep'])
  expect(audited.code, audited.stdout + audited.stderr).toBe(0)
}
