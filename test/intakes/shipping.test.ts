import { beforeAll, describe, expect, test } from 'vitest'
import { logged, type Workplace } from '../e2e/workplace.ts'
import type { Intake, IntakeServer } from './intake.ts'
import { deadLettersOf, expectShipped, expectStored, idsOf, perDay, placeFor, reconfigure } from './place.ts'
import { relayTo } from './relay.ts'
import { elasticsearch, openSearch } from './servers/bulk.ts'
import { loki } from './servers/loki.ts'
import { endpointIntake, nginx, startEndpoint } from './servers/nginx.ts'
import { collector } from './servers/otelcol.ts'
import { rsyslogTcp, rsyslogTls } from './servers/rsyslog.ts'
import { syslogNgTcp, syslogNgTls } from './servers/syslog-ng.ts'
import { victoriaLogs } from './servers/victorialogs.ts'

const servers: readonly IntakeServer[] = [
  openSearch,
  elasticsearch,
  collector,
  loki,
  victoriaLogs,
  nginx,
  rsyslogTcp,
  rsyslogTls,
  syslogNgTcp,
  syslogNgTls,
]

describe.each(servers)('$name', ({ start, dropsDuplicates, withoutRights, refusesWith = 'sink_refuses' }) => {
  let freshIntake: () => Intake

  beforeAll(async () => {
    freshIntake = await start()
  })

  test.each(['oldest-first', 'newest-first', 'unordered'] as const)(
    'has each event of three days once, listed %s',
    async (order) => {
      const intake = freshIntake()
      const place = await placeFor(intake.sinkAt(intake.url), { order })
      await expectShipped(place)
      await expectStored(intake, idsOf(place), { once: true })
      expect(idsOf(place).length).toBeGreaterThanOrEqual(2 * 2 * perDay)
    },
  )

  test('has each event although the shipper was killed before it read an answer', async () => {
    const intake = freshIntake()
    const relay = await relayTo(intake.url)
    const place = await placeFor(intake.sinkAt(relay.url))
    for (const nth of [1, 4]) {
      const kept = relay.keepAnswer(nth)
      const child = place.start(['run', '--once'])
      await Promise.race([kept, child.exited])
      expect(child.isRunning(), child.stderr()).toBe(true)
      await child.kill('SIGKILL')
    }
    await expectShipped(place)
    await expectStored(intake, idsOf(place), { once: dropsDuplicates })
  })

  test('passes check', async () => {
    const intake = freshIntake()
    const place = await placeFor(intake.sinkAt(intake.url))
    const { code, stdout, stderr } = await place.ended(['check'])
    expect(code, stdout + stderr).toBe(0)
    expect(await intake.stored().catch(() => [])).toEqual([])
  })

  test.each(Object.entries(withoutRights))(
    'with %s: has nothing, nothing becomes a dead letter, and has all events once that is mended',
    async (_what, wrong) => {
      const intake = freshIntake()
      const sink = intake.sinkAt(intake.url)
      const place = await placeFor({ ...sink, ...wrong })
      await expectRefused(place, refusesWith)
      expect(await deadLettersOf(place)).toEqual([])
      expect(await intake.stored().catch(() => [])).toEqual([])
      reconfigure(place, sink)
      await expectShipped(place)
      await expectStored(intake, idsOf(place), { once: true })
    },
  )
})

test.each([
  ['small bodies only (413), with ndjson', '/small/ndjson', 'ndjson', { maxEvents: 200 }, 60],
  ['small bodies only (413), with json', '/small/json', 'json', { maxEvents: 200 }, 60],
  ['two bodies a second (429 with Retry-After)', '/slow/1', 'ndjson', { maxEvents: 25 }, 20],
] as const)('nginx gets all events although it takes %s', async (_what, path, preset, batch, days) => {
  const intake = endpointIntake(await startEndpoint(), path, preset)
  const place = await placeFor({ ...intake.sinkAt(intake.url), compression: 'none', batch }, { days })
  await expectShipped(place)
  await expectStored(intake, idsOf(place), { once: true })
  expect(await deadLettersOf(place)).toEqual([])
})

async function expectRefused(place: Workplace, code: string): Promise<void> {
  const { code: exitCode, stderr } = await place.once()
  expect(exitCode, stderr).toBe(1)
  const codes = logged(stderr).flatMap(({ code: of }) => (of === undefined ? [] : [of]))
  expect(new Set(codes), stderr).toEqual(new Set([code]))
}
