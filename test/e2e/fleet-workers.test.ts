import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { redisServerAvailable } from '../setup/redis.ts'
import {
  askedBy,
  endTraffic,
  expectWhole,
  fleet,
  stopAll,
  streamOf,
  untilFleet,
  untilWhole,
  type Fleet,
  type Member,
} from './fleet.ts'
import { partsBelow } from './shipped.ts'

/** Who asked last for each stream that was not read to its end yet. */
async function workedOn({ place, checkpoints }: Fleet): Promise<ReadonlyMap<string, string>> {
  const latest = new Map<string, string>()
  for (const request of place.simulator.requests) latest.set(streamOf(request), askedBy(request)!)
  for (const { stream, lastFull } of await checkpoints())
    if (lastFull !== undefined) latest.delete(`${stream.zone}/${stream.day}`)
  return latest
}

/** Streams that others than this member have asked for since. */
function othersSince({ place }: Fleet, name: string, sinceMs: number): ReadonlySet<string> {
  const later = place.simulator.requests.filter(({ at }) => at > sinceMs)
  return new Set(later.filter((request) => askedBy(request) !== name).map(streamOf))
}

/** Lengths of the parts of these streams. */
function lengthsOf({ place: { events } }: Fleet, streams: readonly string[]): ReadonlyMap<string, number> {
  const folders = streams.map((stream) => `shield_zone=${stream.replace('/', '/day=')}/`)
  const parts = partsBelow(events).filter((part) => folders.some((folder) => part.startsWith(folder)))
  return new Map(parts.map((part) => [part, statSync(join(events, part)).size]))
}

describe.skipIf(!redisServerAvailable())('of a scheduler and some workers', () => {
  test('a worker is killed, one frozen, one stopped, and the scheduler is killed and doubled: each event once', async () => {
    const live = { ratePerSecond: 2 }
    const all = await fleet({
      // So slow that no stream is read to its end before all three are seen at work. Pages shift while they are read, but
      // in order: a short listing without one is taken for an ordered one by chance, and is then read whole an hour later.
      simulator: { days: 1_000, pageSize: 25, latencyMs: 1_000, order: 'newest-first', live },
      // So that one of them does not take all streams before the others have started.
      settings: { workers: { streams: 4 } },
    })
    const { simulator } = all.place
    const workers = await all.startWorkers('killed', 'frozen', 'stopped')
    const [killed, frozen, stopped] = workers as [Member, Member, Member]
    const scheduler = all.start('scheduler', 'scheduler')
    const busy = await untilFleet(all, 'work for all three', async () => {
      const found = Map.groupBy(await workedOn(all), ([, by]) => by)
      return simulator.requests.length > 50 && found.size === 3 && found
    })
    const streamsOf = ({ name }: { readonly name: string }) => busy.get(name)!.map(([stream]) => stream)
    const fromMs = Date.now()
    const untilTaken = (from: Member) =>
      untilFleet(all, `others on the streams of ${from.name}`, () =>
        streamsOf(from).every((stream) => othersSince(all, from.name, fromMs).has(stream)),
      )
    await Promise.all([killed.kill('SIGKILL'), frozen.kill('SIGSTOP')])
    expect(await stopped.kill('SIGTERM'), stopped.stderr()).toEqual({ code: 0, signal: null })
    const replacement = all.start('worker', 'replacement')
    await untilTaken(stopped)
    simulator.set({ latencyMs: 5 })
    await untilTaken(killed)
    // The product promises a minute; a busy machine gets two.
    expect(Date.now() - fromMs).toBeLessThan(120_000)
    await untilTaken(frozen)

    await scheduler.kill('SIGKILL')
    const both = [all.start('scheduler', 'second'), all.start('scheduler', 'third')]
    for (const one of both) await one.waitForLine(/"event":"Started"/)

    // Once the others have read them to their ends, nobody but the old pumps would write to the past days.
    const past = streamsOf(frozen).filter((stream) => !stream.endsWith(all.days[2]))
    await untilFleet(all, 'the past days', async () => {
      const unfinished = await workedOn(all)
      return !past.some((stream) => unfinished.has(stream))
    })
    const before = lengthsOf(all, past)
    await frozen.kill('SIGCONT')
    const thawedAtMs = Date.now()
    await untilFleet(all, 'work for the thawed one', () =>
      simulator.requests.some((one) => one.at > thawedAtMs && askedBy(one) === 'frozen'),
    )
    endTraffic(all)
    await untilWhole(all)
    // A part that the thawed one began was cut to nothing.
    for (const [part, bytes] of lengthsOf(all, past))
      expect(bytes, part).toBeLessThanOrEqual(before.get(part) ?? 0)
    expect(replacement.isRunning() && frozen.isRunning()).toBe(true)
    await stopAll(all)
    await expectWhole(all)
  })
})
