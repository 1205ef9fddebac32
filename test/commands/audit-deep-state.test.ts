import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { shiftDay, startOf } from '../../src/domain/day.ts'
import type { CommittedPart } from '../../src/domain/event/delivery.ts'
import { deep, edit, events, expectWhole, linesOf, none, pathOf, shipped, yesterday } from './deep-audit.ts'
import type { Workshop } from './workshop.ts'

describe('holes in the state', () => {
  const database = ({ folder }: Workshop) => new DatabaseSync(join(folder, 'var', 'shieldlog.db'))

  test('a minute that the ledger has lost is restored from the lines of the files, and not shipped twice', async () => {
    const workshop = await shipped()
    const db = database(workshop)
    const stream = db.prepare('SELECT id, seen FROM stream WHERE day = ?').get(yesterday) as {
      id: number
      seen: number
    }
    const { minute, count } = db
      .prepare('SELECT minute, count FROM minute WHERE stream = ? ORDER BY minute LIMIT 1')
      .get(stream.id) as { minute: number; count: number }
    db.prepare('DELETE FROM minute WHERE stream = ? AND minute = ?').run(stream.id, minute)
    db.prepare('DELETE FROM chunk WHERE seen = ? AND minute = ?').run(stream.seen, minute)
    db.close()
    const found = await deep(workshop)
    expect(found.report).toMatchObject({ missing: count, extra: 0 })
    expect(found.file).toMatchObject({ missing: 0, problems: { ...none, unknown: count } })
    const repaired = await deep(workshop, '--repair')
    expect(repaired.report).toMatchObject({ isEqual: true, files: [{ restored: 0, kept: count }] })
    expect(repaired.code).toBe(0)
    await expectWhole(workshop)
  })

  test('exactly the events that were never shipped are shipped', async () => {
    const workshop = await shipped()
    const noon = startOf(yesterday) + 12 * 3_600_000
    workshop.simulator.append(101, yesterday, 3, { timestampMs: (index) => noon + index })
    const found = await deep(workshop)
    expect([found.code, found.report.missing, found.file.isEqual]).toEqual([1, 3, true])
    const repaired = await deep(workshop, '--repair')
    expect([repaired.code, repaired.report.streams[0]!.repaired]).toEqual([0, 3])
    await expectWhole(workshop)
  })

  /** Changes the committed lengths of yesterday's checkpoint. */
  function changeCommitted(
    workshop: Workshop,
    change: (committed: readonly CommittedPart[]) => readonly CommittedPart[],
  ): void {
    const db = database(workshop)
    const row = db
      .prepare('SELECT stream, body FROM checkpoint JOIN stream ON stream.id = stream WHERE day = ?')
      .get(yesterday) as { stream: number; body: string }
    const body = JSON.parse(row.body) as { readonly committed: readonly CommittedPart[] }
    const changed = JSON.stringify({ ...body, committed: change(body.committed) })
    db.prepare('UPDATE checkpoint SET body = ? WHERE stream = ?').run(changed, row.stream)
    db.close()
  }

  const lastLine = (workshop: Workshop) => linesOf(pathOf(workshop)).at(-1)!.length + 1
  const lengthCases = [
    {
      name: 'that was raised is a part that lost lines',
      change: (bytes: number) => bytes + 100,
      found: { missing: 0, parts: [{ problem: 'short' }] },
    },
    {
      name: 'that was lowered by a line is a part that holds more, and a line that is cut and written again',
      change: (bytes: number, last: number) => bytes - last,
      found: { missing: 1, lines: events - 1, parts: [{ problem: 'longer' }] },
    },
    {
      name: 'that ends within a line is a torn line',
      change: (bytes: number, last: number) => bytes - last + 20,
      found: {
        missing: 1,
        lines: events - 1,
        problems: { ...none, torn: 1 },
        parts: [{ problem: 'longer' }],
      },
    },
    {
      name: 'that is gone is a part that nobody knows',
      change: () => undefined,
      found: { missing: events, lines: 0, parts: [{ problem: 'unknown' }] },
    },
  ]

  test.for(lengthCases)('a committed length $name', async ({ change, found: wanted }) => {
    const workshop = await shipped()
    const last = lastLine(workshop)
    changeCommitted(workshop, (committed) =>
      committed.flatMap((committedPart) => {
        const bytes = change(committedPart.bytes, last)
        return bytes === undefined ? [] : [{ ...committedPart, bytes }]
      }),
    )
    const found = await deep(workshop)
    expect([found.code, found.report.missing, found.report.extra]).toEqual([1, 0, 0])
    expect(found.file).toMatchObject({ isEqual: false, ...wanted })
    const repaired = await deep(workshop, '--repair')
    expect(repaired.code, repaired.stdout).toBe(0)
    await expectWhole(workshop)
  })

  test('a changed count is reported, and nothing is shipped for it', async () => {
    const workshop = await shipped()
    const db = database(workshop)
    const stream = db.prepare('SELECT id FROM stream WHERE day = ?').get(yesterday) as { id: number }
    const { minute } = db
      .prepare('SELECT minute FROM minute WHERE stream = ? ORDER BY minute LIMIT 1')
      .get(stream.id) as { minute: number }
    db.prepare('UPDATE minute SET count = count + 1 WHERE stream = ? AND minute = ?').run(stream.id, minute)
    db.close()
    const found = await deep(workshop)
    expect(found.report).toMatchObject({ missing: 0, extra: 1 })
    expect(found.file).toMatchObject({ missing: 1, isByCounts: true, minutes: [{ missing: 1, extra: 0 }] })
    const repaired = await deep(workshop, '--repair')
    expect([repaired.code, repaired.file.restored]).toEqual([1, 0])
    await expectWhole(workshop)
  })

  test('without fingerprints counts and hashes are compared, also for a day that the API no longer lists', async () => {
    const workshop = await shipped()
    const db = database(workshop)
    db.exec('DELETE FROM chunk')
    db.close()
    workshop.simulator.set({ readableDays: 1 })
    const whole = await deep(workshop)
    expect([whole.code, whole.report.streams, whole.file.isEqual], whole.stderr).toEqual([0, [], true])
    const path = pathOf(workshop)
    edit(path, (lines) => lines.with(6, lines[6]!.replace(/"id":"./, '"id":"-')))
    const altered = await deep(workshop)
    expect(altered.file).toMatchObject({
      isByCounts: true,
      isEqual: false,
      missing: 1,
      minutes: [{ missing: 1, extra: 1 }],
    })
    edit(path, (lines) => [...lines.slice(0, 6), ...lines.slice(7)])
    const shorter = await deep(workshop)
    expect(shorter.file).toMatchObject({ isByCounts: true, missing: 1, parts: [{ problem: 'short' }] })
    const unrepaired = await deep(workshop, '--repair')
    expect(unrepaired.code).toBe(1)
    expect(unrepaired.stderr).toMatch(/was not repaired: .*does not answer for this day/)
    const text = await workshop.execute('audit', '--zone', '101', '--day', yesterday, '--deep')
    expect(text.stdout).toMatch(/^101 {2}files differ$.*Fingerprints are gone.*part .* is short/ms)
  })

  test('a day that the state no longer has cannot be compared', async () => {
    const workshop = await shipped()
    const old = shiftDay(yesterday, -30)
    const ended = await workshop.execute('audit', '--zone', '101', '--day', old, '--deep')
    expect([ended.code, ended.stdout]).toEqual([3, `     ${old}\n101  not readable\n`])
    expect(ended.stderr).toMatch(/could not be audited: .*does not answer for this day/)
  })
})

test('parallel repairs of one day write each missing line once', async () => {
  const workshop = await shipped()
  const lost = 10
  edit(pathOf(workshop), (lines) =>
    lines.map((line, index) => (index < lost ? line.replace(/"id":"./, '"id":"-') : line)),
  )
  const both = await Promise.all([deep(workshop, '--repair'), deep(workshop, '--repair')])
  expect(both.map(({ code }) => code)).toEqual([1, 1])
  // However they met: what one of them did not do is done by the next.
  const last = await deep(workshop, '--repair')
  expect(last.file).toMatchObject({ missing: 0, problems: { ...none, unknown: lost }, lines: events + lost })
})
