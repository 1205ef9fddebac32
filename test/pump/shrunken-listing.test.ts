import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { nextDue } from '../../src/domain/plan/due.ts'
import { fingerprintOf, ownIdOf } from '../../src/domain/event/fingerprint.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { unseeDay } from '../../src/days/unsee.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import type { PumpJob } from '../../src/pump/session.ts'
import { at, hourMs, minuteMs, stream } from '../domain/builders.ts'
import { createStage, eventAt, firstEvents, idsOf, listingOf, whole, zone, type Answer } from './stage.ts'

/** A stream that has shipped these events, by a full scan. */
async function shipped(events: readonly Event[], more: Partial<PumpJob> = {}, size = 2) {
  const stage = await createStage()
  /** What the API lists from now on is read once a poll or a full scan is due, and no back-off stands. */
  const list = async (answer: readonly Event[] | Answer, own: Partial<PumpJob> = {}) => {
    stage.script.answer = typeof answer === 'function' ? answer : listingOf(answer, size)
    await stage.clock.advance(hourMs)
    return stage.pump({ ...more, ...own })
  }
  stage.script.answer = listingOf(events, size)
  await stage.pump(more)
  return { stage, list, read: async () => (await stage.read())! }
}

/** An entry that shares id and time with others, beside which it was listed. */
function twin(number: number, content: string): Event {
  const { id, time = '', ...rest } = eventAt(number)
  const own = { id: ownIdOf(id, content), time }
  const otherFingerprint = () => fingerprintOf({ id, time })
  return { ...rest, ...own, fingerprint: fingerprintOf(own), hasOwnId: true, otherFingerprint }
}

const six = firstEvents(6)
const missedOf = (met: number, known: number) => `the API lists ${met} of ${known} known events`
const missed = missedOf(3, 6)

describe('a full scan of a listing that lists less than it did', () => {
  it.each([
    ['nothing', [], 0],
    ['the first half', six.slice(0, 3), 3],
    ['the last half', six.slice(3), 3],
    ['all but one', six.slice(1), 5],
    ['as many, of which some are new', firstEvents(9).slice(3), 3],
  ])('proves nothing where it lists %s; what it finds is shipped', async (_, listed, met) => {
    const { stage, list, read } = await shipped(six)
    const before = await read()
    await list(listed)
    const { lastFull, caughtUpAtMs, shrunken, needsFull, trouble } = await read()
    expect([lastFull, caughtUpAtMs]).toEqual([before.lastFull, before.caughtUpAtMs])
    expect([shrunken, needsFull, trouble]).toMatchObject([{ scans: 1, missing: 6 - met }, true, undefined])
    await list(firstEvents(9))
    expect(stage.ids().toSorted()).toEqual(idsOf(0, 9))
    expect((await read()).lastFull!.beganAtMs).toBeGreaterThan(before.lastFull!.beganAtMs)
    expect(await read()).toMatchObject({ listed: 9, needsFull: false })
    expect((await read()).shrunken).toBeUndefined()
  })

  it('is repeated at the usual pace, and is a failure of the stream the second time, until the events are back', async () => {
    const { stage, list, read } = await shipped(six)
    expect(await list(six.slice(3))).toBeUndefined()
    expect(stage.names()).not.toContain('ScanGuarded')
    const checkpoint = await read()
    const due = nextDue({ stream, checkpoint }, stage.clock.now(), stage.deps.policy)
    expect(due).toEqual({ kind: 'full', atMs: checkpoint.lastCommitAtMs + 30_000 })
    expect(await stage.pump()).toMatchObject({ code: 'scan_guarded' })
    const { day } = stream
    expect((await read()).trouble).toMatchObject({ code: 'scan_guarded', message: `${missed} on ${day}` })
    expect(stage.internalEvents).toContainEqual({
      name: 'ScanGuarded',
      stream,
      guard: 'listing_shrank',
      why: missed,
    })
    await list(six)
    expect((await read()).trouble).toBeUndefined()
    expect(stage.names()).toContain('StreamRecovered')
  })

  it('may list less than others that read the same day, and none of what it never listed', async () => {
    const { stage, list, read } = await shipped([])
    await list([])
    await list(six.slice(0, 1))
    expect(await read()).toMatchObject({ listed: 1, needsFull: false })
    expect(stage.names()).not.toContain('ScanGuarded')
  })

  it('expires with a gap from the latest scan that counts', async () => {
    const { stage, list, read } = await shipped(six)
    const { lastFull } = await read()
    for (let hours = 0; hours < 21; hours++) await list(six.slice(0, hours % 3))
    await stage.clock.advance(72 * hourMs)
    const outside = () => new Failure('refuse', 'window_closed', '', { serverDate: stage.clock.now() })
    await list(outside)
    await list(outside)
    expect(await read()).toMatchObject({ ended: { as: 'expired' } })
    const gap = { from: lastFull!.beganAtMs, to: at(24), reason: 'unreadable' }
    expect(await stage.store.catalogue.gaps()).toMatchObject([gap])
  })
})

describe('what a scan has met', () => {
  it('leaves out entries with an id of their own, whichever of them is listed', async () => {
    const both = [twin(1, 'one'), twin(1, 'two')]
    const { list, read } = await shipped([eventAt(0), ...both, eventAt(2)])
    expect((await read()).listed).toBe(2)
    const alone = { ...eventAt(1), otherFingerprint: () => both[0]!.fingerprint }
    await list([eventAt(0), alone])
    expect(await read()).toMatchObject({ shrunken: { missing: 1 } })
    await list([eventAt(0), alone, eventAt(2)])
    expect((await read()).shrunken).toBeUndefined()
    await list([eventAt(0), ...both, eventAt(2)])
    expect((await read()).shrunken).toBeUndefined()
  })

  it.each([
    ['by one pump', false, [[0, 1, 2], [2, 3, 4], [4]]],
    ['by a pump for each page', true, [[0, 1, 2], [2, 3, 4], [4]]],
    ['with empty pages between', true, [[0, 1, 2], [], [2, 3, 4], [], [4]]],
  ])('counts an event once that stands on two pages, read %s', async (_, isPaged, pages) => {
    const { stage, list, read } = await shipped(six)
    const answer: Answer = ({ cursor }) => {
      const page = Number(cursor ?? 0)
      const more = page + 1 < pages.length
      return { events: pages[page]!.map((each) => six[each]!), ...(more && { next: String(page + 1) }) }
    }
    await list(answer, { mayGoOn: () => !isPaged })
    for (let pumps = 0; pumps < pages.length; pumps++)
      if ((await read()).full !== undefined) await stage.pump({ mayGoOn: () => !isPaged })
    expect(await read()).toMatchObject({ shrunken: { missing: 1 } })
  })

  it.each([
    ['failed, so that the page is read again', true],
    ['kept the rest back', false],
  ])('leaves out what it found itself, also where the sink took a part and %s', async (_, fails) => {
    const { stage, list, read } = await shipped(firstEvents(4), {}, 6)
    let times = 0
    const failure = new Failure('retry', 'network', 'no answer')
    stage.script.deliver = async (some) =>
      times++ === 0 ? { ...whole, partial: { taken: some.slice(0, 2), ...(fails && { failure }) } } : whole
    const listed = [...six.slice(2), ...firstEvents(12).slice(6)]
    await list(listingOf(listed, 6))
    await list(listingOf(listed, 6))
    expect((await read()).lastFull!.beganAtMs).toBeLessThan(at(3))
    expect(await read()).toMatchObject({ listed: 12, shrunken: { scans: fails ? 1 : 2, missing: 2 } })
  })
})

describe('a poll', () => {
  it('of a newest-first listing stops early only where it has met each event of the mark', async () => {
    const ordering = { order: 'newest-first', cursorProven: false, revocations: 0 } as const
    const old = Array.from({ length: 60 }, (_, index) => eventAt(index, at(0) + index * minuteMs))
    const newest = [eventAt(60, at(1)), ...old.toReversed()]
    const { list, stage, read } = await shipped(newest, { ordering }, 10)
    const { caughtUpAtMs } = await read()
    const answer = listingOf(newest.slice(1), 10)
    await list(answer, { mayGoOn: () => false })
    while ((await read()).incremental !== undefined) await stage.pump({ mayGoOn: () => false })
    expect(await read()).toMatchObject({ caughtUpAtMs, needsFull: true, shrunken: { scans: 1, same: 0 } })
    expect((await read()).lastIncremental).toBeUndefined()
  })

  it('from a stored cursor must meet the last events of the latest complete scan', async () => {
    const ordering = { order: 'oldest-first', cursorProven: true, revocations: 0 } as const
    const long = Array.from({ length: 30 }, (_, index) => eventAt(index, at(0) + index * 200_000))
    const { list, stage, read } = await shipped(long, { ordering })
    await list(long)
    const { caughtUpAtMs } = await read()
    stage.script.answer = listingOf(long.slice(0, -1), 2)
    await stage.clock.advance(30_000)
    await stage.pump()
    expect(await read()).toMatchObject({ caughtUpAtMs, needsFull: true, shrunken: { scans: 1, same: 0 } })
    await list(long)
    await stage.clock.advance(30_000)
    await stage.pump()
    expect((await read()).lastIncremental!.pages).toBeLessThan(5)
  })
})

describe('a read request', () => {
  const request = { priority: 'backfill', readRequest: { id: 'r1' } } as const

  it.each(['open', 'complete'])(
    'of an %s day is answered with what the API lists, once it was repeated',
    async (state) => {
      const { stage, list, read } = await shipped(six)
      if (state === 'complete') await stage.complete()
      expect(await list(six.slice(3), request)).toMatchObject({ code: 'scan_guarded' })
      const reason = missed
      expect((await read()).lastRequest).toEqual({ id: 'r1', outcome: 'left_out', reason })
      expect([(await read()).trouble, (await read()).requestTrouble]).toEqual([undefined, undefined])
      expect((await read()).ended?.as).toBe(state === 'complete' ? 'complete' : undefined)
      await list(six, { ...request, readRequest: { id: 'r2' } })
      expect((await read()).lastRequest).toMatchObject({ id: 'r2', outcome: 'done' })
    },
  )

  it('of `run --once` fails and is tried no more', async () => {
    const { list, read } = await shipped(six)
    const once = { readRequest: { id: 'once' } }
    expect(await list(six.slice(3), once)).toMatchObject({ code: 'scan_guarded' })
    expect(await read()).toMatchObject({ trouble: { code: 'scan_guarded' }, lastRequest: { id: 'once' } })
  })

  it.each([
    ['that shifts', listingOf(six, 2)],
    [
      'that goes round',
      (asked) => (asked.cursor === null ? { events: six } : { events: [], next: asked.cursor }),
    ],
  ] satisfies [string, Answer][])(
    'of `run --once` gets a scan of its own after one that began before it, on a listing %s',
    async (_, answer) => {
      const { stage, list, read } = await shipped(six)
      await list(six.slice(3))
      await list(six.slice(2), { mayGoOn: () => false })
      expect(await read()).toMatchObject({ full: { pages: 1 }, shrunken: { scans: 1 } })
      expect(await list(answer, { readRequest: { id: 'once' } })).toBeUndefined()
      expect(stage.names()).toContain('ScanGuarded')
      expect(await read()).toMatchObject({ lastRequest: { id: 'once', outcome: 'done' } })
      expect([(await read()).trouble, (await read()).shrunken]).toEqual([undefined, undefined])
    },
  )

  it('of a resend must find or meet what was known before it', async () => {
    const { stage, list, read } = await shipped(six)
    await stage.complete()
    await unseeDay({ stream, zone, request: 'r0' }, stage.deps, new AbortController().signal)
    expect(await read()).toMatchObject({ resend: { was: 6 }, listed: 0 })
    await list(six.slice(3), request)
    expect((await read()).lastRequest).toMatchObject({ outcome: 'left_out', reason: missed })
    await list(six, { ...request, readRequest: { id: 'r2' } })
    expect((await read()).lastRequest).toMatchObject({ id: 'r2', outcome: 'done' })
    expect(await read()).toMatchObject({ listed: 6, counters: { delivered: 6 } })
    expect((await read()).resend).toBeUndefined()
    expect(stage.ids()).toEqual([...idsOf(0, 6), ...idsOf(3, 6), ...idsOf(0, 3)])
  })

  it('of a resend meets entries too that were told apart only after one of them was known', async () => {
    const both = [twin(1, 'one'), twin(1, 'two')]
    const alone = { ...eventAt(1), otherFingerprint: () => both[0]!.fingerprint }
    const { stage, list, read } = await shipped([eventAt(0), alone, eventAt(2)])
    const all = [eventAt(0), ...both, eventAt(2)]
    await list(all)
    await stage.complete()
    await unseeDay({ stream, zone, request: 'r0' }, stage.deps, new AbortController().signal)
    await list(all.slice(0, 3), request)
    expect((await read()).lastRequest).toMatchObject({ outcome: 'left_out', reason: missedOf(2, 3) })
    await list(all, { ...request, readRequest: { id: 'r2' } })
    expect((await read()).lastRequest).toMatchObject({ id: 'r2', outcome: 'done' })
    expect(await read()).toMatchObject({ listed: 2, counters: { delivered: 4 } })
  })
})

describe('events that the API has removed for good', () => {
  it('are believed to be gone after a day in which full scans missed always as many; a gap says so', async () => {
    const { stage, list, read } = await shipped(six)
    const { lastFull } = await read()
    const beganMs = stage.clock.now()
    for (let hours = 1; hours <= 25; hours++) {
      await list(firstEvents(6 + hours).slice(2))
      expect((await read()).gone).toBe(hours <= 24 ? undefined : 2)
    }
    expect((await read()).lastFull!.beganAtMs).toBeGreaterThan(beganMs + 24 * hourMs)
    const gap = { from: lastFull!.beganAtMs, to: at(24), reason: 'unreadable' }
    expect(await stage.store.catalogue.gaps()).toMatchObject([gap])
    expect(stage.names()).toContain('GapFound')
    await list(firstEvents(31).slice(2))
    expect((await read()).shrunken).toBeUndefined()
    await list(firstEvents(31).slice(3))
    expect(await read()).toMatchObject({ shrunken: { missing: 1 } })
    await unseeDay({ stream, zone, request: 'r0' }, stage.deps, new AbortController().signal)
    expect(await read()).toMatchObject({ listed: 2, gone: 2, resend: { was: 29 } })
  })

  it('are not believed to be gone where the number changes', async () => {
    const { list, read } = await shipped(six)
    for (let hours = 1; hours <= 40; hours++) await list(six.slice(hours % 5 === 0 ? 1 : 2))
    expect((await read()).gone).toBeUndefined()
  })
})

describe('a window that slides by the hour', () => {
  const all = Array.from({ length: 23 }, (_, hour) => eventAt(hour, at(hour) + minuteMs))

  it.each([
    { isRead: true, from: 20, scans: 0 },
    { isRead: true, from: 21, scans: 1 },
    { isRead: false, from: 20, scans: 1 },
  ])(
    'is no fault once a day was read after its end ($isRead), for events older than the readable days: from $from h',
    async ({ isRead, from, scans }) => {
      const { stage, list, read } = await shipped(all)
      await stage.clock.advance(at(isRead ? 24.5 : 23) - stage.clock.now() - hourMs)
      await list(all)
      await stage.clock.advance(at(68) - stage.clock.now() - hourMs)
      await list(all.slice(from))
      expect((await read()).shrunken?.scans ?? 0).toBe(scans)
    },
  )

  it('is not judged by a clock that may be days ahead: the first scan of a process must meet all', async () => {
    const { stage, list, read } = await shipped(all)
    await stage.clock.advance(at(24.5) - stage.clock.now() - hourMs)
    await list(all)
    const before = await read()
    const aheadMs = 72 * hourMs
    await stage.clock.advance(at(30) + aheadMs - stage.clock.now())
    stage.script.answer = () => ({ events: [], clockOffsetMs: -aheadMs })
    await stage.pump({}, undefined, { apiClock: createApiClock(stage.clock) })
    expect(await read()).toMatchObject({ lastFull: before.lastFull, shrunken: { scans: 1, missing: 23 } })
  })
})
