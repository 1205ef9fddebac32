import { expect, test } from 'vitest'
import { fitting, liveColumns, watchStatus } from '../../../src/tasks/status/command.ts'
import { statusLines } from '../../../src/tasks/status/text.ts'
import { Failure } from '../../../src/domain/failure.ts'
import { createLagHistory } from '../../../src/status/lag-history.ts'
import { route, status, terminal } from './sample.ts'

test('shows events per second since the slot before, and the longest lag of each half minute', () => {
  const history = createLagHistory(30_000)
  const lastMs = 600_000 * 1000 - 1
  for (const [ago, delivered, lagSeconds] of [
    [60, 0, 120],
    [30, 1_000, 60],
    [0, 2_530, 0],
  ] as const)
    history.add(lastMs - ago * 1000, [{ ...route(), delivered, lagSeconds }])
  const cells = liveColumns(history, lastMs).map(([, textOf]) => textOf(route()))
  expect(cells).toEqual(['51', `${' '.repeat(17)}█▅▁`])
})

test.each([80, 120])('fits rates and the lag chart into %i columns', (columns) => {
  const history = createLagHistory(10_000)
  const live = liveColumns(history, 0)
  const lines = statusLines(status, terminal(columns), { live })
  expect(lines.join('\n')).toContain('events/s')
  expect(lines.join('\n')).toContain('lag, last 10 min')
  expect(lines.filter((line) => line.length > columns)).toEqual([])
})

test('never draws more lines than the terminal has, and reports what is left out', () => {
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index}`)
  expect(fitting(lines, { width: 80, rows: 24 })).toHaveLength(23)
  expect(fitting(lines, { width: 80, rows: 24 }).at(-1)).toBe(
    '… and 28 more lines: choose with --zone or --sink',
  )
  expect(fitting(lines, { width: 80, rows: 80 })).toEqual(lines)
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
