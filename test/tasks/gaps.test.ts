import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Day } from '../../src/domain/day.ts'
import type { Gap } from '../../src/domain/stream.ts'
import { executeWith, openWorkshop } from './workshop.ts'
import { inStore } from '../setup/stores.ts'

const from = Date.UTC(2026, 10, 17, 13, 2)
const gap: Gap = {
  zone: 101,
  sink: 'archive',
  day: '2026-11-17' as Day,
  from,
  to: Date.UTC(2026, 10, 18),
  reason: 'unreadable',
  recordedAt: Date.UTC(2026, 10, 20, 0, 1),
}
/** One of a route that is configured no more. */
const gone: Gap = { ...gap, zone: 999, sink: 'old', reason: 'zone_gone', from: Date.UTC(2026, 10, 17) }
const gaps = [gap, { ...gap, day: '2026-11-18' as Day, from: gap.to, to: Date.UTC(2026, 10, 19) }, gone]

const readAt = '2026-11-21T10:00:00.000Z'

async function filled() {
  const workshop = openWorkshop()
  const database = join(workshop.folder, 'var', 'shieldlog.db')
  await inStore({ database }, ({ catalogue }) => catalogue.addGaps(gaps))
  const open = async () => {
    const { stdout } = await workshop.execute('gaps', 'list', '--json')
    const listed = (JSON.parse(stdout) as { gaps: { zone: number; day: string; acknowledgedAt?: string }[] })
      .gaps
    return listed
      .filter(({ acknowledgedAt }) => acknowledgedAt === undefined)
      .map(({ zone, day }) => `${zone} ${day}`)
  }
  const read = (some: readonly Gap[]) =>
    inStore({ database }, ({ catalogue }) =>
      catalogue.addGaps(some.map((each) => ({ ...each, readAt: Date.parse(readAt) }))),
    )
  return { ...workshop, read, configFile: join(workshop.folder, 'shieldlog.yaml'), open }
}

test('a day that was read after all is named as that, without an alarm', async () => {
  const { execute, read } = await filled()
  await read(gaps.slice(0, 2))
  const { stdout } = await execute('gaps', 'list')
  expect(stdout).toMatch(/^101 shop +archive +2026-11-17 .* +read 2026-11-21$/m)
  expect(stdout).toContain('read: the day was read whole since.')
  expect(stdout).toContain('To end the alarm about 1 gap: shieldlog gaps acknowledge')
  const { stdout: json } = await execute('gaps', 'list', '--zone', 'shop', '--json')
  expect(JSON.parse(json)).toMatchObject({ gaps: [{ readAt }, { readAt }] })
  const { stdout: status } = await execute('status', '--json', '--zone', 'shop')
  const { problems } = JSON.parse(status) as { problems: { kind: string }[] }
  expect(problems.filter(({ kind }) => kind === 'gap')).toEqual([])
})

test('lists gaps with zone, sink, day, span, reason, when recorded, and whether acknowledged', async () => {
  const { execute } = await filled()
  const { code, stdout } = await execute('gaps', 'list')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^zone +sink +day +lost, UTC +reason +recorded +acknowledged$/m)
  expect(stdout).toMatch(/^101 shop +archive +2026-11-17 +13:02-24:00 +unreadable +2026-11-20 +no$/m)
  expect(stdout).toMatch(/^999 +old +2026-11-17 +00:00-24:00 +zone_gone +2026-11-20 +no$/m)
  expect(stdout).toContain('zone_gone: the API no longer knows the zone.')
  expect(stdout).toContain('To end the alarm about 3 gaps: shieldlog gaps acknowledge')
  const { stdout: json } = await execute('gaps', 'list', '--zone', 'shop', '--day', '2026-11-17', '--json')
  expect(JSON.parse(json)).toEqual({
    gaps: [
      {
        zone: 101,
        name: 'shop',
        sink: 'archive',
        day: '2026-11-17',
        from: '2026-11-17T13:02:00.000Z',
        to: '2026-11-18T00:00:00.000Z',
        reason: 'unreadable',
        recordedAt: '2026-11-20T00:01:00.000Z',
      },
    ],
  })
})

test('asks before it acknowledges, and obeys the answer', async () => {
  const { configFile, open } = await filled()
  const asked: string[] = []
  const acknowledge = (answer: string, ...args: readonly string[]) => {
    const ask = async (question: string) => (asked.push(question), answer)
    return executeWith(configFile, ['gaps', 'acknowledge', ...args], { ask })
  }
  for (const answer of ['', 'n', 'nay'])
    expect(await acknowledge(answer)).toEqual({ code: 1, stdout: '', stderr: 'nothing was acknowledged\n' })
  expect(await open()).toEqual(['101 2026-11-17', '101 2026-11-18', '999 2026-11-17'])
  const done = await acknowledge('y', '--zone', '101')
  expect(done).toEqual({ code: 0, stdout: 'acknowledged 2 gaps\n', stderr: '' })
  expect(asked.at(-1)).toBe(
    'acknowledge 2 gaps (101 → archive 2026-11-17, 101 → archive 2026-11-18)? They no longer raise an alarm. [y/N] ',
  )
  expect(await open()).toEqual(['999 2026-11-17'])
})

test('needs --yes without a terminal, takes the selection, and finds nothing the second time', async () => {
  const { execute, open } = await filled()
  const refused = await execute('gaps', 'acknowledge')
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('confirm with --yes')])
  const one = await execute('gaps', 'acknowledge', '--sink', 'old', '--day', '2026-11-17', '--yes', '--json')
  expect([one.code, JSON.parse(one.stdout)]).toEqual([0, { acknowledged: 1 }])
  expect((await execute('gaps', 'acknowledge', '--sink', 'old')).stdout).toBe('no gaps to acknowledge\n')
  expect(await open()).toEqual(['101 2026-11-17', '101 2026-11-18'])
  const unknown = await execute('gaps', 'list', '--zone', '103')
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('--zone 103 is not known')])
})
