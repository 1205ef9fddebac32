import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { waitFor } from '../setup/wait-for.ts'
import { isLong } from './crash-world.ts'
import { compareFiles, exactly } from './shipped.ts'
import { readableDays, workplace, zones, type Workplace } from './workplace.ts'

const kills = isLong ? 40 : 6

/** Kills a `run --once` a little after so many more requests. Returns whether it was still under way. */
async function killOnTheWay(place: Workplace, requests: number, delayMs: number): Promise<boolean> {
  const child = place.start(['run', '--once'])
  const until = place.simulator.requests.length + requests
  await waitFor(() => place.simulator.requests.length >= until || !child.isRunning(), {
    what: () => `${requests} requests: ${child.stderr()}`,
    everyMs: 1,
  })
  // No wait for anything: the moment is meant to be any.
  await sleep(delayMs)
  const ended = await child.kill()
  return ended?.signal === 'SIGKILL'
}

test(`${kills} kills at any moment, then a run to the end: each event once`, async () => {
  const days = readableDays()
  const place = await workplace({ days: 700, pageSize: 20 })
  const { simulator, events } = place
  // More pages than all killed runs together read. Small parts, so that a kill meets rotation too.
  place.configure({
    sinks: [{ name: 'archive', type: 'file', path: events, rotate: { maxBytes: 50_000 } }],
  })
  const moments: string[] = []
  let killed = 0
  for (let index = 0; index < kills; index++) {
    const moment = { requests: randomInt(1, 16), delayMs: randomInt(0, 12) }
    moments.push(`${moment.requests}+${moment.delayMs}ms`)
    if (await killOnTheWay(place, moment.requests, moment.delayMs)) killed++
    // What a reader finds meanwhile may have its last lines twice, never an event that the API does not have.
    if (index === kills / 2) for (const zone of zones) simulator.append(zone, days[2], 9)
  }
  expect(killed).toBeGreaterThan(kills / 2)
  const last = await place.once()
  expect(last.code, last.stderr).toBe(0)
  const whole = zones.length * (days.length * 700 + 9)
  expect(compareFiles(events, simulator, zones, days), moments.join(' ')).toEqual(exactly(whole))
})
