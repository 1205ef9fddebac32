import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultRule } from '../../src/simulator/simulator.ts'
import { createRandom, type Random } from '../pump/model/random.ts'
import * as faults from '../simulator/faults.ts'
import type { Mood } from '../e2e/hostile-receiver.ts'
import type { World } from './world.ts'

/** Faults after which every event can still be read as it is, and under the id that the verdict counts. */
const damages = [
  faults.cut(),
  faults.redirect(),
  faults.wrongTypes(),
  faults.repeatedEntries(),
  faults.emptyPageWithMore(),
  faults.repeatToken(),
  faults.date({ offsetMs: 3_600_000 }),
  faults.drip({ everyMs: 5, chunkBytes: 16_384 }),
  faults.moreWithoutToken(),
  faults.errorKey({ errorKey: 'invalid_datetime_window.event_logs', status: 401 }),
]
const apiFaults: Readonly<Record<string, readonly FaultRule[]>> = {
  ...faults.scenarios,
  ...Object.fromEntries(damages.map((fault) => [fault.kind, [{ times: Infinity, every: 5, fault }]])),
}

/** After which every event is sent again. */
const moods: readonly Mood[] = ['busy', 'broken', 'silent', 'forgetful', 'late', 'gone']

type Wait = (seconds: number) => Promise<void>
type Trouble = (world: World, random: Random, wait: Wait) => Promise<string>

async function apiTrouble({ place }: World, random: Random, wait: Wait): Promise<string> {
  const names = [random.pick(Object.keys(apiFaults)), random.pick(Object.keys(apiFaults))]
  for (const rule of names.flatMap((name) => apiFaults[name] ?? [])) place.simulator.fail(rule)
  await wait(random.between(3, 12))
  place.simulator.heal()
  return `API: ${names.join(' and ')}`
}

async function sinkTrouble({ receiver }: World, random: Random, wait: Wait): Promise<string> {
  receiver.mood = random.pick(moods)
  const name = `destination: ${receiver.mood}`
  await wait(random.between(2, 10))
  receiver.mood = 'well'
  return name
}

async function expiry({ place }: World): Promise<string> {
  place.simulator.expireTokens()
  return 'API: all tokens expired'
}

async function lateEvents({ place }: World, random: Random): Promise<string> {
  const { simulator } = place
  const days = [...new Set(simulator.requests.map(({ day }) => day))].filter((day) => day !== undefined)
  const zones = [...new Set(simulator.requests.map(({ zone }) => zone))].filter((zone) => zone !== undefined)
  if (days.length > 0 && zones.length > 0)
    simulator.append(random.pick(zones), random.pick(days), random.between(1, 20))
  return 'API: late events'
}

async function kill(world: World, random: Random, wait: Wait): Promise<string> {
  await world.victim().kill('SIGKILL')
  await wait(random.between(0, 3))
  world.replaceVictim()
  return 'worker: kill -9'
}

async function stop(world: World, _random: Random, wait: Wait): Promise<string> {
  const ended = await world.victim().kill('SIGTERM')
  await wait(1)
  world.replaceVictim()
  return ended?.code === 0 ? 'worker: stopped' : `worker: stopped badly (${JSON.stringify(ended)})`
}

async function freeze(world: World, random: Random, wait: Wait): Promise<string> {
  await world.victim().kill('SIGSTOP')
  await wait(random.between(2, 40))
  await world.victim().kill('SIGCONT')
  return 'worker: frozen and thawed'
}

async function redisKilled({ redis }: World, random: Random, wait: Wait): Promise<string> {
  await redis.kill()
  await wait(random.between(1, 15))
  await redis.restart()
  return 'Redis: kill -9 and started again'
}

async function redisFrozen({ redis }: World, random: Random, wait: Wait): Promise<string> {
  await redis.pause()
  await wait(random.between(1, 10))
  await redis.resume()
  return 'Redis: frozen and thawed'
}

const often: readonly Trouble[] = [apiTrouble, apiTrouble, apiTrouble, sinkTrouble, sinkTrouble, lateEvents]
const seldom: readonly Trouble[] = [expiry, kill, kill, stop, freeze, redisKilled, redisFrozen]

/**
 * Brings one trouble after the other until the signal aborts; ends with everything well and running. Resolves to how
 * often each kind came.
 */
export async function bringTroubles(
  world: World,
  seed: number,
  tell: (line: string) => void,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const random = createRandom(seed)
  const counts = new Map<string, number>()
  // Cut short by the end: each trouble then takes itself back at once.
  const wait: Wait = (seconds) => sleep(seconds * 1000, undefined, { signal }).catch(() => undefined)
  while (!signal.aborted) {
    const trouble = random.pick(random.chance(0.6) ? often : seldom)
    const name = await trouble(world, random, wait)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    tell(name)
    await wait(random.between(1, 4))
  }
  return counts
}
