import { beforeAll, describe, expect, test } from 'vitest'
import { readableDays, workplace, zones, type Workplace } from '../e2e/workplace.ts'
import { waitFor } from '../setup/wait-for.ts'
import type { Intake, IntakeServer } from './intake.ts'
import { relayTo } from './relay.ts'
import { elasticsearch } from './servers/elasticsearch.ts'
import { loki } from './servers/loki.ts'
import { openSearch } from './servers/opensearch.ts'
import { collector } from './servers/otelcol.ts'

const perDay = 300
const servers: readonly IntakeServer[] = [openSearch, elasticsearch, collector, loki]
let seed = 1

describe.each(servers)('$name', ({ start, dropsDuplicates }) => {
  let freshIntake: () => Promise<Intake>

  beforeAll(async () => {
    freshIntake = await start()
  })

  test.each(['oldest-first', 'newest-first', 'unordered'] as const)(
    'has each event of three days once, listed %s',
    async (order) => {
      const intake = await freshIntake()
      const place = await placeFor(intake, intake.url, order)
      const { code, stderr } = await place.once()
      expect(code, stderr).toBe(0)
      await expectStored(intake, place, { once: true })
    },
  )

  test('has each event although the shipper was killed before it read an answer', async () => {
    const intake = await freshIntake()
    const relay = await relayTo(intake.url)
    const place = await placeFor(intake, relay.url, 'unordered')
    for (const nth of [1, 4]) {
      const kept = relay.keepAnswer(nth)
      const child = place.start(['run', '--once'])
      await kept
      await child.kill('SIGKILL')
    }
    const { code, stderr } = await place.once()
    expect(code, stderr).toBe(0)
    await expectStored(intake, place, { once: dropsDuplicates })
  })

  test('is found healthy by check', async () => {
    const intake = await freshIntake()
    const place = await placeFor(intake, intake.url, 'unordered')
    const { code, stdout, stderr } = await place.ended(['check'])
    expect(code, stdout + stderr).toBe(0)
    expect(await intake.stored().catch(() => [])).toEqual([])
  })
})

async function placeFor(intake: Intake, url: string, order: 'oldest-first' | 'newest-first' | 'unordered') {
  const place = await workplace({ days: perDay, pageSize: 100, order, seed: ++seed })
  place.configure({ sinks: [{ name: 'siem', url, batch: { maxEvents: 60 }, ...intake.sink }] })
  return place
}

/** Intakes show an event some time after they acknowledged it. */
async function expectStored(
  intake: Intake,
  { simulator }: Workplace,
  { once }: { once: boolean },
): Promise<void> {
  const expected = zones.flatMap((zone) =>
    readableDays().flatMap((day) => simulator.entries(zone, day).map(({ logId }) => logId)),
  )
  expect(expected.length).toBeGreaterThanOrEqual(zones.length * 2 * perDay)
  const stored = await waitFor(
    async () => {
      const ids = await intake.stored()
      return new Set(ids).size >= expected.length ? ids : false
    },
    { timeoutMs: 60_000, everyMs: 500, what: () => `all of ${expected.length} events` },
  )
  const ids = new Set(stored)
  expect(expected.filter((id) => !ids.has(id))).toEqual([])
  expect(ids.size).toBe(expected.length)
  if (once) expect(stored).toHaveLength(expected.length)
}
