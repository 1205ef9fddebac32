import { expect, test } from 'vitest'
import { createHistory, fitting, watchStatus } from '../../../src/commands/status/watch.ts'
import { statusLines } from '../../../src/commands/status/text.ts'
import { Failure } from '../../../src/domain/failure.ts'
import type { Status } from '../../../src/domain/status/status.ts'
import { day, route, status, terminal } from './sample.ts'

const secondsAfter = (seconds: number) => new Date(Date.parse(status.at) + seconds * 1000).toISOString()

function after(seconds: number, delivered: number, lagSeconds: number): Status {
  return { ...status, at: secondsAfter(seconds), routes: [route({ lagSeconds, days: [day({ delivered })] })] }
}

test('shows events per second over the last seconds, and the longest lag of each half minute', () => {
  const history = createHistory()
  for (const [seconds, delivered, lag] of [
    [0, 0, 120],
    [30, 1_000, 60],
    [55, 2_000, 0],
    [60, 2_255, 0],
  ] as const)
    history.add(after(seconds, delivered, lag))
  const [rate, lag] = history.columns(after(60, 0, 0).routes)
  expect(rate?.cells).toEqual(['51'])
  expect(lag?.cells).toEqual([`${' '.repeat(17)}█▅▁`])
})

test('forgets what is older than ten minutes, and shows no rate below 0', () => {
  const history = createHistory()
  history.add(after(0, 5_000, 9_000))
  history.add(after(601, 100, 0))
  history.add(after(602, 40, 0))
  const [rate, lag] = history.columns(after(602, 0, 0).routes)
  expect([rate?.cells, lag?.cells]).toEqual([['0'], [`${' '.repeat(19)}▁`]])
})

test.each([80, 120])('fits rates and the lag chart into %i columns', (columns) => {
  const history = createHistory()
  history.add(status)
  const lines = statusLines(status, terminal(columns), { live: history.columns })
  expect(lines.join('\n')).toContain('events/s')
  expect(lines.join('\n')).toContain('lag, last 10 min')
  expect(lines.filter((line) => line.length > columns)).toEqual([])
})

test('never draws more lines than the terminal has, and reports what is left out', () => {
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index}`)
  expect(fitting(lines, 24, { width: 80 })).toHaveLength(23)
  expect(fitting(lines, 24, { width: 80 }).at(-1)).toBe('… and 28 more lines: choose with --zone or --sink')
  expect(fitting(lines, 80, { width: 80 })).toEqual(lines)
})

test('continues after a failed read of the state, and ends with the signal', async () => {
  const stop = new AbortController()
  let drawn = ''
  let calls = 0
  const read = async () => {
    calls++
    if (calls === 2) throw new Failure('retry', 'store_unavailable', 'the state does not answer')
    if (calls === 3) stop.abort('SIGINT')
    return status
  }
  const stdout = { write: (text: string) => (drawn += text), isTTY: true, columns: 80, rows: 40 }
  const clock = { sleep: async () => undefined } as never
  await watchStatus(read, {}, { stdout, signal: stop.signal }, clock)
  expect(calls).toBe(3)
  expect(drawn).toContain('the state does not answer')
  expect(drawn.split('the state does not answer')[1]).toContain('101 shop')
})
