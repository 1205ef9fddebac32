import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { shiftDay, startOf } from '../../src/domain/day.ts'
import { systemClock } from '../../src/clock.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import type { CommittedPart } from '../../src/domain/event/delivery.ts'
import type { Commit, Store } from '../../src/ports/store.ts'
import { deep, edit, events, expectWhole, linesOf, none, pathOf, shipped, yesterday } from './deep-audit.ts'
import { editCheckpoints, openSqliteStore } from '../setup/stores.ts'
import type { Workshop } from './workshop.ts'

describe('holes in the state', () => {
  const databaseOf = ({ folder }: Workshop) => join(folder, 'var', 'shieldlog.db')

  /** Commits to yesterday's stream what `change` makes of its checkpoint. */
  async function commit(
    workshop: Workshop,
    change: (store: Store, checkpoint: Checkpoint) => Promise<Partial<Commit>>,
  ): Promise<void> {
    const store = await openSqliteStore({
      path: databaseOf(workshop),
      clock: systemClock,
      deadLetterMaxBytes: 1,
    })
    const { stream } = (await store.catalogue.checkpoints()).find((each) => each.stream.day === yesterday)!
    const { fence, checkpoint } = await store.ledger.take(stream, { id: 'test', schedule: true })
    const basedOn = checkpoint!.commit
    const next = { ...checkpoint!, commit: basedOn + 1 }
    const nothing = { seen: new Map(), deadLetters: [], gaps: [] }
    const own = await change(store, checkpoint!)
    expect(await store.ledger.commit({ fence, basedOn, next, ...nothing, ...own })).toBe('done')
    await store.ledger.release(stream, fence)
    await store.close()
  }

  test('a minute that the ledger has lost is restored from the lines of the files, and not shipped twice', async () => {
    const workshop = await shipped()
    let count = 0
    await commit(workshop, async (store, { stream }) => {
      const [first] = await store.ledger.minutes(stream)
      ;({ count } = first!)
      return { unsee: await store.ledger.loadSeen(stream, [first!.minute]) }
    })
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

  async function dropIndex(workshop: Workshop): Promise<void> {
    const path = databaseOf(workshop)
    const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1 })
    for (const { stream } of await store.catalogue.checkpoints())
      if (stream.day === yesterday) expect(await store.upkeep.dropIndex(stream)).toBe(true)
    await store.close()
  }

  /** Changes the committed lengths of yesterday's checkpoint. */
  function changeCommitted(
    workshop: Workshop,
    change: (committed: readonly CommittedPart[]) => readonly CommittedPart[],
  ): void {
    editCheckpoints(databaseOf(workshop), (body, key) => {
      const { committed } = body as { readonly committed: readonly CommittedPart[] }
      return key.includes(yesterday) ? { ...body, committed: change(committed) } : body
    })
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
    await commit(workshop, async (store, { stream }) => {
      const [first] = await store.ledger.minutes(stream)
      return { seen: new Map([[first!.minute, new Uint8Array(8).fill(7)]]) }
    })
    await dropIndex(workshop)
    const found = await deep(workshop)
    expect(found.report).toMatchObject({ missing: 0, extra: 1 })
    expect(found.file).toMatchObject({ missing: 1, isByCounts: true, minutes: [{ missing: 1, extra: 0 }] })
    const repaired = await deep(workshop, '--repair')
    expect([repaired.code, repaired.file.restored]).toEqual([1, 0])
    await expectWhole(workshop)
  })

  test('without fingerprints counts and hashes are compared, also for a day that the API no longer lists', async () => {
    const workshop = await shipped()
    await dropIndex(workshop)
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
