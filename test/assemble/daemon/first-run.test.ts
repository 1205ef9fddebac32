import { expect, onTestFinished, test } from 'vitest'
import { Daemon } from '../../../src/assemble/daemon/daemon.ts'
import { createRuntime } from '../../../src/assemble/runtime.ts'
import { dayOf, startOf } from '../../../src/domain/day.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { load } from '../../config/loading.ts'
import { reply, serve } from '../../sinks/http/destination-server.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const never = new AbortController().signal
const maxAgeMs = 18 * 3_600_000

test('a first start with three days of events skips those that Datadog takes no more, and ships today', async () => {
  const simulator = await startSimulator({ accessKey: 'key', zones: [101], days: 300, pageSize: 100 })
  onTestFinished(() => simulator.close())
  const nowMs = Date.now()
  const today = dayOf(nowMs)
  simulator.append(101, today, 40, { timestampMs: Math.max(startOf(today), nowMs - 60_000) })
  const destination = await serve(reply(202, '{}'))
  const folder = temporaryFolder()
  const settings = {
    api: { baseUrl: simulator.url, accessKey: 'key' },
    zones: [101],
    // Less than one event that would be refused takes.
    deadLetters: { maxBytes: 65_536 },
    sinks: [{ name: 'dd', type: 'http', preset: 'datadog', apiKey: 'k', url: destination.url }],
    log: { level: 'silent' },
  }
  const loaded = load({ yaml: JSON.stringify(settings), cwd: folder })
  const runtime = createRuntime(loaded.config, {})
  const daemon = new Daemon(loaded, { runtime, serve: false, role: 'all', sinkGone: () => undefined })
  onTestFinished(() => daemon.stop())
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
