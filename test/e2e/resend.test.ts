import { expect, test } from 'vitest'
import { dayOf, shiftDay } from '../../src/domain/day.ts'
import type { Status } from '../../src/status/fleet.ts'
import { backfillsOf, told } from '../tasks/backfill/backfilling.ts'
import { waitFor } from '../setup/wait-for.ts'
import { receiver } from './receiver.ts'
import { endOf, workplace, type Workplace } from './workplace.ts'
import { forgetHolders } from '../setup/stores.ts'

const zone = 101
const perDay = 60
const pageSize = 10
const yesterday = shiftDay(dayOf(Date.now()), -1)

/** A day that a receiver has taken once. */
async function shippedOnce() {
  const siem = await receiver()
  const sinks = [{ name: 'siem', type: 'http', url: siem.url, compression: 'gzip' }]
  const place = await workplace(
    { zones: [zone], days: perDay, pageSize },
    { zones: [zone], poll: { everySeconds: 1 }, sinks },
  )
  const ended = await place.once()
  expect(ended.code, ended.stderr).toBe(0)
  return { place, siem }
}

/** What is told of yesterday. */
async function toldOfYesterday(place: Workplace) {
  const { code, stdout, stderr } = await told(place, 'status', '--json')
  expect([0, 1], stderr).toContain(code)
  const { routes } = JSON.parse(stdout) as Status
  const { delivered, deadLetters, late } = routes
    .flatMap(({ days }) => days)
    .find(({ day }) => day === yesterday)!
  return { delivered, deadLetters, late }
}

const ofYesterday = (lines: readonly string[]) =>
  lines.filter((line) => line.includes(`"time":"${yesterday}`))

/** How often each line was taken. */
function counts(lines: readonly string[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const line of lines) found.set(line, (found.get(line) ?? 0) + 1)
  return found
}

test('a resend ships the same lines once more, and continues after a kill', async () => {
  const { place, siem } = await shippedOnce()
  const first = ofYesterday(siem.taken)
  expect(first).toHaveLength(perDay)

  const range = `${yesterday}:${yesterday}`
  const child = place.entry(['--backfill', range, '--resend', '--kill', 'before:commit@siem:2'])
  const killed = await endOf(child)
  expect(killed.signal, killed.stderr).toBe('SIGKILL')
  forgetHolders(place.database)
  const [made] = await backfillsOf(place)
  expect(made).toMatchObject({ state: 'running', queued: 1 })

  const resumed = await told(place, 'backfill', 'resume', made!.id)
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(await backfillsOf(place)).toMatchObject([{ state: 'done', done: 1 }])
  // The load that the kill came before the commit of was taken once more.
  const all = counts(ofYesterday(siem.taken))
  expect([...all.keys()].sort()).toEqual(first.toSorted())
  const thrice = [...all.values()].filter((count) => count === 3)
  expect(thrice.length).toBe(perDay)
  expect(await toldOfYesterday(place)).toEqual({ delivered: perDay, deadLetters: 0, late: 0 })
  const audited = await told(place, 'audit', '--day', yesterday)
  expect(audited.code, audited.stderr).toBe(0)
})

test('a resend that is killed when its day counts as not shipped waits until it is resumed, and is shipped once by a run', async () => {
  const { place, siem } = await shippedOnce()
  const run = place.start(['run'])
  await run.waitForLine(/"event":"Started"/)
  const range = `${yesterday}:${yesterday}`
  const killed = await endOf(place.entry(['--backfill', range, '--resend', '--kill', 'after:commit@siem:1']))
  expect(killed.signal, killed.stderr).toBe('SIGKILL')
  const [made] = await backfillsOf(place)
  expect(made).toMatchObject({ state: 'paused' })
  const resumed = await told(place, 'backfill', 'resume', made!.id)
  expect(resumed.code, resumed.stderr).toBe(0)
  await waitFor(async () => (await backfillsOf(place))[0]?.state === 'done', { what: () => run.stderr() })
  expect(await run.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  expect([...counts(ofYesterday(siem.taken)).values()]).toEqual(Array.from({ length: perDay }, () => 2))
  expect(await toldOfYesterday(place)).toEqual({ delivered: perDay, deadLetters: 0, late: 0 })
})
