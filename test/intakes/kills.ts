import { expect } from 'vitest'
import type { ObjectStore } from '../../src/sinks/objects/store.ts'
import { endOf, readableDays, zones } from '../e2e/workplace.ts'
import type { TestProcess } from '../setup/processes.ts'
import { startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import type { SinkSettings } from './intake.ts'
import { idsOf, placeFor } from './place.ts'
import { eventsIn, expectEachOnce, objectsIn } from './servers/bucket.ts'

/** What ships, how often it is killed, and where its state is. */
export const shippers = [
  ['one process', 20, undefined],
  ['two workers over Redis', 8, startRedis],
] as const

/** Kills shippers of this sink again and again; then each event is in its store once. */
export async function expectOnceDespiteKills(
  sink: SinkSettings,
  client: ObjectStore,
  kills: number,
  redis: typeof startRedis | undefined,
): Promise<void> {
  const store = await redis?.()
  const state = store && { state: { redis: { url: store.url, keyPrefix: store.keyPrefix } } }
  const place = await placeFor(sink, { days: 20 }, { server: { port: 0 }, ...state })
  const children: TestProcess[] = []
  const start = () => children[children.push(place.start(['run'])) - 1]!
  const adopted = () => children.flatMap((child) => child.stderr().match(/"ObjectAdopted"/g) ?? []).length
  const running = store === undefined ? [] : [start()]
  // One process is killed until it was between an object and its commit, too: else nothing was tried here. Over
  // Redis the work of a dead one waits for its lock to expire: there the kills are counted alone.
  const isTried = () => store !== undefined || adopted() > 0
  for (let round = 0; round < kills || (!isTried() && round < 5 * kills); round++) {
    for (const zone of zones) place.simulator.append(zone, readableDays()[2], 20)
    const before = await objectsIn(client)
    running.push(start())
    await waitFor(async () => (await objectsIn(client)) > before + (round % 2), {
      // Another worker takes the streams of a dead one over within a minute.
      timeoutMs: 180_000,
      everyMs: 1,
      what: () => `an object: ${children.at(-1)!.stderr()}`,
    })
    await running.shift()!.kill('SIGKILL')
  }
  for (const each of running) await each.kill('SIGKILL')
  children.push(place.start(['run', '--once']))
  const { code, stderr } = await endOf(children.at(-1)!)
  expect(code, stderr).toBe(0)
  expectEachOnce(await eventsIn(client), idsOf(place))
  expect(isTried()).toBe(true)
}
