import { readdirSync, truncateSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dayOf, endOf, shiftDay, startOf } from '../../../src/domain/day.ts'
import { readParts } from '../../sinks/file/samples.ts'
import { accessKey, openWorkshopWithApi, type Ended, type Workshop } from '../workshop.ts'
import type { StreamAudit } from '../../../src/tasks/audit/audit-day.ts'
import { inStore } from '../../setup/stores.ts'

const today = dayOf(Date.now())
const yesterday = shiftDay(today, -1)
const noon = startOf(yesterday) + 12 * 3_600_000

interface Report {
  isEqual: boolean
  missing: number
  extra: number
  notYetDue: number
  streams: StreamAudit[]
}

const reportOf = ({ stdout }: Ended) => JSON.parse(stdout) as Report

async function idsInFiles({ folder }: Workshop, zone: number, day: string): Promise<string[]> {
  const ids: string[] = []
  for await (const line of readParts(join(folder, 'events'), zone, day))
    ids.push((JSON.parse(line) as { id: string }).id)
  return ids.sort()
}

/** What the status page shows of the audit of yesterday. */
const keptAudit = ({ folder }: Workshop) =>
  inStore({ database: join(folder, 'var', 'shieldlog.db') }, ({ ledger }) =>
    ledger.auditOf({ zone: 101, day: yesterday, sink: 'archive' }),
  )

test('reports missing events by minute and id, ships exactly these, and then finds no difference', async () => {
  const workshop = await openWorkshopWithApi({ days: 50, pageSize: 20 })
  const { simulator } = workshop
  await workshop.execute('run', '--once')
  const late = simulator.append(101, yesterday, 3, { timestampMs: (index) => noon + index * 60_000 })
  const audit = ['audit', '--zone', 'shop', '--day', 'yesterday', '--json']
  const before = await workshop.execute(...audit)
  const report = reportOf(before)
  expect([before.code, report.missing, report.extra, report.notYetDue]).toEqual([1, 3, 0, 0])
  expect(await keptAudit(workshop)).toMatchObject({ isEqual: false, missing: 3, listed: 53, ledger: 50 })
  const [stream] = report.streams
  expect(stream!.minutes.map(({ minute, missing }) => [minute, missing])).toEqual(
    late.map((_, index) => [new Date(noon + index * 60_000).toISOString(), 1]),
  )
  expect(stream!.missingEvents.map(({ id }) => id).sort()).toEqual(late.map(({ logId }) => logId).sort())
  const requests = simulator.requests.length
  const text = (await workshop.execute('audit', '--zone', 'shop', '--day', 'yesterday')).stdout
  expect(text).toContain(
    `${yesterday}, zone 101 shop → archive: the API lists 53 events, 50 were delivered. Missing: 1 at 12:00, 1 at 12:01, 1 at 12:02. By id: `,
  )
  for (const { logId } of late) expect(text).toContain(logId)
  const command = text.match(/^To ship them: .*? audit (.*)$/m)?.[1]?.split(' ') ?? []
  expect(command).toEqual([
    '-c',
    join(workshop.folder, 'shieldlog.yaml'),
    '--zone',
    '101',
    '--day',
    yesterday,
    '--repair',
  ])
  expect(simulator.requests.length - requests).toBe(3)

  const repaired = await workshop.run(...audit, '--repair')
  expect(reportOf(repaired)).toMatchObject({ isEqual: true, missing: 0, streams: [{ repaired: 3 }] })
  expect([repaired.code, repaired.stderr]).toEqual([0, `repairing zone 101 on ${yesterday} → archive\n`])
  expect(await idsInFiles(workshop, 101, yesterday)).toEqual(
    simulator
      .entries(101, yesterday)
      .map(({ logId }) => logId)
      .sort(),
  )
  expect((await workshop.execute(...audit)).code).toBe(0)
  expect(await keptAudit(workshop)).toMatchObject({ isEqual: true, missing: 0, listed: 53, ledger: 53 })
})

test('of one state: events that are not delivered yet are no difference, extra ones stay, parts are compared by length', async () => {
  const workshop = await openWorkshopWithApi({ days: 10 })
  await workshop.execute('run', '--once')
  const audit = (day: string, ...more: string[]) =>
    workshop.execute('audit', '--zone', '101', '--day', day, ...more)
  workshop.simulator.append(101, today, 4, { timestampMs: Math.min(Date.now() + 1000, endOf(today) - 1) })
  const open = await audit(today)
  expect(open.stdout).toMatch(
    /^101 shop {2}4 not delivered yet$.*^Not delivered yet: 4 events, .*14 events; 0 missing, 0 extra\.$/ms,
  )
  expect(open.code).toBe(0)

  const fewer = await openWorkshopWithApi({ days: { [yesterday]: 0 } })
  fewer.simulator.append(101, yesterday, workshop.simulator.entries(101, yesterday).slice(0, 7))
  workshop.configure({ api: { baseUrl: fewer.simulator.url, accessKey } })
  expect(reportOf(await audit(yesterday, '--json'))).toMatchObject({ isEqual: false, missing: 0, extra: 3 })
  const repaired = await audit(yesterday, '--json', '--repair')
  const why = 'the API lists 7 of 10 known events'
  expect(reportOf(repaired)).toMatchObject({ extra: 3, streams: [{ repaired: 0 }], unrepaired: [{ why }] })
  expect(repaired.code).toBe(1)

  workshop.configure({ api: { baseUrl: workshop.simulator.url, accessKey } })
  const folder = join(workshop.folder, 'events', 'shield_zone=101', `day=${yesterday}`)
  const part = readdirSync(folder)[0]!
  truncateSync(join(folder, part), statSync(join(folder, part)).size - 10)
  const short = await audit(yesterday)
  expect([short.code, short.stdout]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(`^101 shop {2}files differ$.*^ {2}part ${part} is short .*committed lines are gone`, 'ms'),
    ),
  ])
})

test('a day of which the state has dropped what was shipped is told as that, and neither repaired nor backfilled', async () => {
  const workshop = await openWorkshopWithApi({ days: 20, pageSize: 20 }, { zones: [101] })
  await workshop.execute('run', '--once')
  const stream = { zone: 101, day: yesterday, sink: 'archive' }
  const database = join(workshop.folder, 'var', 'shieldlog.db')
  await inStore({ database }, ({ upkeep }) =>
    upkeep.prune([stream], { uncommittedBefore: yesterday, gapsBefore: 0 }),
  )
  const shipped = await idsInFiles(workshop, 101, yesterday)
  const why = /^the day was shipped, and the state has dropped what \(state\.keepDays\)/
  for (const more of [[], ['--deep', '--repair']]) {
    const ended = await workshop.run('audit', '--day', yesterday, '--json', ...more)
    expect(ended.code, ended.stderr).toBe(3)
    const told = { zone: 101, day: yesterday, sink: 'archive', why: expect.stringMatching(why) as string }
    expect(JSON.parse(ended.stdout)).toMatchObject({ missing: 0, streams: [], notCompared: [told] })
  }
  const { stdout } = await workshop.execute('audit', '--day', `${yesterday},today`)
  expect(stdout).toMatch(/^101 {2}shipped +ok$/m)
  expect(stdout).toContain(`${yesterday}, zone 101 → archive: the day was shipped, and the state`)
  // What nobody names is not looked for.
  expect((await workshop.execute('audit')).code).toBe(0)
  const range = ['--from', yesterday, '--to', yesterday]
  const backfill = await workshop.execute('backfill', ...range)
  expect(backfill.code).toBe(1)
  expect(backfill.stdout + backfill.stderr).toContain('the day was shipped, and the state has dropped what')
  expect(await idsInFiles(workshop, 101, yesterday)).toEqual(shipped)
})
