import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { dayMs, shiftDay } from '../../src/domain/day.ts'
import type { AuditRecord } from '../../src/domain/audit-report.ts'
import { Planner } from '../../src/plan/planner.ts'
import { readFleet } from '../../src/status/fleet.ts'
import { policy, stream, today } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone } from '../pump/stage.ts'

/** A state whose first stream was just read, and what is a problem of it besides that nothing ships. */
async function begun(
  blindSinks: readonly string[] = [stream.sink],
  sinks = [stream.sink],
  held = new Map<string, string>(),
) {
  const stage = await createStage()
  const settings = () => ({ zones: [zone], sinks, policy, held })
  const deps = { ...stage, telemetry: stage.deps.telemetry, turn: setImmediate, settings, blindSinks }
  const planner = new Planner(deps)
  stage.script.answer = listingOf([eventAt(0)], 5)
  await stage.pump()
  const workers = () => Promise.resolve([{ role: 'all', name: 'one' } as const])
  const problems = async () =>
    (await readFleet({ ...deps, planner, workers, isRetired: () => false })).status.problems.filter(
      ({ kind }) => kind === 'new_state' || kind === 'differs',
    )
  return { stage, planner, problems }
}

test('a new state is told for a day, with what it ships to sinks that do not show it themselves', async () => {
  const { stage, planner, problems } = await begun()
  await planner.remember()
  expect(await problems()).toMatchObject([
    {
      kind: 'new_state',
      text: `The state is new since 02:00: it ships 3 days of 1 zone to ${stream.sink}.`,
      remedy: expect.stringMatching(/^On a first start that is all\. If the state was lost, /) as string,
    },
  ])
  await stage.clock.advance(dayMs)
  expect(await problems()).toEqual([])
})

test('a sink that was added to a new state ten minutes later or more is not named: nothing was shipped to it before', async () => {
  const sinks = [stream.sink, 'soon', 'later']
  const { stage, problems } = await begun(sinks, sinks)
  const told = async () => (await problems()).map(({ text }) => text)
  const texts = (...named: string[]) => [
    expect.stringMatching(`^The state is new .* of 1 zone to ${named.join(', ')}\\.$`) as string,
  ]
  await stage.clock.advance(9 * 60_000)
  await stage.pump({ stream: { ...stream, sink: 'soon' } })
  await stage.clock.advance(2 * 60_000)
  expect(await told()).toEqual(texts(...sinks))
  await stage.pump({ stream: { ...stream, sink: 'later' } })
  expect(await told()).toEqual(texts(stream.sink, 'soon'))
})

test('a sink that is held is not named as one that a new state ships to', async () => {
  const sinks = [stream.sink, 'held']
  const { problems } = await begun(sinks, sinks, new Map([['held', 'renamed']]))
  expect((await problems())[0]?.text).toMatch(new RegExp(`1 zone to ${stream.sink}\\.$`))
})

test('a state is not new where only file sinks are shipped to, or where it knows a route from earlier', async () => {
  expect(await (await begun([])).problems()).toEqual([])
  const { stage, problems } = await begun()
  const route = { zone: zone.id, sink: stream.sink, plannedAtMs: 1 }
  await stage.store.catalogue.rememberRoutes([{ ...route, firstDay: shiftDay(today, -9) }])
  expect(await problems()).toEqual([])
})

test('a difference that the latest audit of a readable day found is a problem until an audit finds none', async () => {
  const { stage, problems } = await begun([])
  const counts = { listed: 12, ledger: 10, missing: 2, extra: 0, notYetDue: 0, isByCounts: false }
  const red: AuditRecord = { atMs: stage.clock.now(), version: '1', isEqual: false, ...counts }
  const { ledger } = stage.store
  await ledger.noteAudit(stream, red)
  expect(await problems()).toMatchObject([
    {
      kind: 'differs',
      sink: stream.sink,
      zone: zone.id,
      text: expect.stringMatching(
        new RegExp(`: at 02:00, audit of ${today} found 2 events missing; run it again after a repair\\.$`),
      ) as string,
      command: `audit --sink ${stream.sink}`,
    },
  ])
  await ledger.noteAudit(stream, { ...red, missing: 0, extra: 1, files: '1,000 more lines' })
  expect((await problems())[0]).toMatchObject({
    text: expect.stringContaining(
      `, audit --deep of ${today} found 1 that the API does not list, files or objects of 1 day that differ; run it`,
    ) as string,
    command: `audit --sink ${stream.sink} --deep`,
  })
  await ledger.noteAudit(stream, { ...red, isEqual: true, missing: 0 })
  expect(await problems()).toEqual([])
  // Nothing of it can be repaired once the day cannot be read any more.
  await ledger.noteAudit(stream, red)
  await stage.clock.advance(3 * dayMs)
  expect(await problems()).toEqual([])
})
