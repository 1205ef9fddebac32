import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { dayMs, dayOf, startOf } from '../../src/domain/day.ts'
import { commitOnce } from '../contract/checkpoint-store/builders.ts'
import { openSqliteStore } from '../setup/stores.ts'
import { reply, serve } from '../sinks/http/destination-server.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { apiOf, daemonWith } from './daemons.ts'

const never = new AbortController().signal
const maxAgeMs = 18 * 3_600_000

test('a run that only reads once prunes what is old, so that a store that cron feeds does not grow', async () => {
  const { api } = await apiOf({ zones: [101], days: 20 })
  const folder = temporaryFolder()
  const path = join(folder, 'shieldlog.db')
  const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1 })
  onTestFinished(() => store.close())
  const old = { zone: 101, day: dayOf(Date.now() - 40 * dayMs), sink: 'archive' }
  await commitOnce(store, old, {
    with: { ended: { as: 'complete', atMs: Date.now() - 37 * dayMs }, committed: [] },
  })
  const { daemon } = daemonWith({ api, state: `sqlite:${path}` }, { folder })
  await daemon.open(never)
  expect(await daemon.engine().drain('once', never)).toEqual([])
  const days = (await store.catalogue.checkpoints()).map(({ stream }) => stream.day)
  expect(days).toHaveLength(3)
  expect(days).not.toContain(old.day)
})

test('a first start with three days of events skips those that Datadog takes no more, and ships today', async () => {
  const { simulator, api } = await apiOf({ zones: [101], days: 300, pageSize: 100 })
  const nowMs = Date.now()
  const today = dayOf(nowMs)
  simulator.append(101, today, 40, { timestampMs: Math.max(startOf(today), nowMs - 60_000) })
  const destination = await serve(reply(202, '{}'))
  const { daemon } = daemonWith({
    api,
    // Less than one event that would be refused takes.
    deadLetters: { maxBytes: 65_536 },
    sinks: [{ name: 'dd', type: 'http', preset: 'datadog', apiKey: 'k', url: destination.url }],
  })
  await daemon.open(never)
  const givenUp = await daemon.engine().drain('first', never)
  const { routes, deadLetters } = await daemon.engine().status()
  expect(givenUp).toEqual([])
  expect(deadLetters).toEqual([])
  const all = [...routes].flatMap(({ days }) => [...days])
  const sum = (field: 'delivered' | 'skipped') => all.reduce((total, day) => total + (day[field] ?? 0), 0)
  expect(sum('delivered') + sum('skipped')).toBe(3 * 300 + 40)
  expect(sum('skipped')).toBeGreaterThanOrEqual(300)
  const sent = destination.got.flatMap(({ text }) => JSON.parse(text) as unknown[])
  expect(sent).toHaveLength(sum('delivered'))
  const isWhole = nowMs - startOf(today) < maxAgeMs
  const { skipped = 0, delivered } = all.find(({ day }) => day === today)!
  if (isWhole) expect([delivered, skipped]).toEqual([340, 0])
  else expect(delivered).toBeGreaterThanOrEqual(40)
})
