import { expect, test } from 'vitest'
import { createBackfillView } from '../../../src/tasks/backfill/text.ts'
import { backfillLines } from '../../../src/tasks/backfills.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { dayOf, type Day } from '../../../src/domain/day.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { openWorkshop } from '../workshop.ts'
import type { BackfillStatus } from '../../../src/status/fleet.ts'
import { shareOf, type BackfillDayStatus } from '../../../src/plan/backfill-progress.ts'
import { paintFor } from '../../../src/terminal/text.ts'

const hostile = 'x\u001B]0;title\u0007\n\u202E'

const none = { zone: 101, queued: 0, done: 0, leftOut: 0, pages: 0, events: 0 }

function progress(day: string, changes: Partial<BackfillDayStatus>): BackfillDayStatus {
  return { ...none, day: day as Day, queued: 1, expectedPages: undefined, ...changes }
}

/** What a view shows of days in their order. */
function look(
  days: readonly BackfillDayStatus[],
  { state = 'running', errors = [] }: Partial<BackfillStatus> = {},
): BackfillStatus {
  const [from, to] = [days[0]!.day, days.at(-1)!.day]
  const about = { id: '5f0c1d2e3a', createdAt: '2026-11-22T00:00:00.000Z', from, to, state }
  return {
    ...about,
    queued: 1,
    done: 1,
    leftOut: 0,
    share: shareOf(days),
    days: [...days],
    reasons: [],
    errors,
  }
}

function viewed(isTTY: boolean) {
  const { folder } = openWorkshop({ log: { level: 'error', format: 'pretty' } })
  const { config } = loadConfig({ argv: { config: `${folder}/shieldlog.yaml` }, needs: 'zones' })
  const writes: string[] = []
  const output = (write: (text: string) => void) => ({ write, isTTY, columns: 70, hasColors: () => false })
  const io = { stdout: output(() => undefined), stderr: output((text) => void writes.push(text)) }
  const clock = createFakeClock()
  const view = createBackfillView(config, io, clock)
  /** What was drawn last, without what erases the drawing before it. */
  const drawn = () => (writes.at(-1) ?? '').split('\u001B[J').at(-1)!.split('\n').slice(0, -1)
  return { view, clock, writes, drawn }
}

test('shows a bar, events and the remaining work, in lines that fit the terminal', async () => {
  const { view, clock, drawn } = viewed(true)
  view.show(look([progress('2026-11-18', { pages: 10, events: 100, expectedPages: 40 })]))
  expect(drawn()).toEqual([
    '5f0c1d2e3a: 2026-11-18                                            0 s',
    '2026-11-18  shop  ████              25 %  100 events',
    'beginning',
  ])
  await clock.advance(10_000)
  const stream = { zone: 101, day: '2026-11-18' as Day, sink: 'archive' }
  const error = { ...stream, code: 'network', message: hostile, failures: 1, since: '', retryAt: '' }
  const now = [progress('2026-11-18', { pages: 30, events: 300, expectedPages: 40 })]
  view.show(look(now, { errors: [error] }))
  expect(drawn()[1]).toBe('2026-11-18  shop  ████████████      75 %  300 events')
  expect(drawn()[2]).toBe('2.0 pages/s, about 5 s left; live events go first')
  expect(drawn()[3]).toMatch(/^zone 101 2026-11-18 → archive: network: /)
  expect(drawn().join('')).not.toMatch(/\p{Cc}|\p{Cf}/u)
  expect(drawn().filter((line) => line.length > 69)).toEqual([])
})

test('shows one row for each zone of a day while they are few, with done and queued streams', () => {
  const { view, drawn } = viewed(true)
  view.show(
    look([
      progress('2026-11-18', { zone: 102, pages: 9, events: 8_204, queued: 0, done: 1 }),
      progress('2026-11-18', { zone: 103, queued: 0, leftOut: 1 }),
      progress('2026-11-19', { pages: 4, events: 1_200 }),
      progress('2026-11-19', { zone: 102 }),
    ]),
  )
  expect(drawn().slice(0, 5)).toEqual([
    '5f0c1d2e3a: 2026-11-18 to 2026-11-19                              0 s',
    `2026-11-18  102   ${'█'.repeat(16)}  done      8,204 events`,
    `2026-11-18  103   ${' '.repeat(16)}  left out`,
    `2026-11-19  shop  ${' '.repeat(16)}  4 pages   1,200 events`,
    `2026-11-19  102   ${' '.repeat(16)}  waiting`,
  ])
})

test('prints plain lines without a terminal, each once, and a summary', () => {
  const { view, writes } = viewed(false)
  const first = look([progress('2026-11-18', { pages: 10, events: 1 }), progress('2026-11-19', {})])
  view.show(first)
  view.show(first)
  const done = { pages: 12, events: 1, queued: 0, done: 1, expectedPages: 12 }
  const summary = view.end(look([progress('2026-11-18', done)], { state: 'done' }))
  expect(writes).toEqual(['2026-11-18  shop: 10 pages, 1 event\n', '2026-11-18  shop: done, 1 event\n'])
  expect(summary).toBe(
    'backfill 5f0c1d2e3a done: 1 stream read, 12 pages, 1 event that counted as not shipped, in 0.0 s',
  )
})

test('the summary does not call events of today missing, which may be newer than the last poll', () => {
  const { view, clock } = viewed(false)
  const done = { pages: 12, queued: 0, done: 1, expectedPages: 12 }
  const today = dayOf(clock.now())
  const days = [progress('2026-11-18', { ...done, events: 2 }), progress(today, { ...done, events: 7 })]
  expect(view.end(look(days, { state: 'done' }))).toContain(
    ', 9 events that counted as not shipped (7 of today, with those newer than the last poll), in ',
  )
})

const pipe = { write: () => undefined, isTTY: false, hasColors: () => false }

test('the list says how much of each backfill has been read', () => {
  const half = [
    progress('2026-11-20', { queued: 0, done: 1, pages: 4 }),
    progress('2026-11-21', { pages: 1, expectedPages: 4 }),
  ]
  const unread = [progress('2026-11-20', { queued: 0, leftOut: 1 })]
  const lines = backfillLines([look(half), look(unread)], { ...paintFor(pipe), isPiped: false, width: 80 })
  expect(lines.map((line) => line.split(/ {2,}/)[4])).toEqual(['read', '62 %', '0 %'])
  expect(lines.filter((line) => line.length > 80)).toEqual([])
})
