import { expect, test } from 'vitest'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import type { Day } from '../../../src/domain/day.ts'
import { openWorkshop } from '../workshop.ts'
import { fillWith } from './fill.ts'

const day = '2026-11-19' as Day
const at = Date.parse('2026-11-19T10:00:00.500Z')

function deadLetter(sink: string, id: string, answer: string): DeadLetter {
  return { zone: 101, day, sink, id, reason: 'refused', answer, at, event: '{}' }
}

test('lists refused events with control characters escaped', async () => {
  const { folder, execute } = openWorkshop()
  expect(await execute('dead-letters', 'list')).toEqual({ code: 0, stdout: 'no dead letters\n', stderr: '' })
  const hostile = '400\n\u001B[2Jgone \u202Ebad'
  await fillWith(
    [deadLetter('siem', 'a', hostile), deadLetter('siem', 'b\u0007', 'no'), deadLetter('old', 'c', 'no')],
    folder,
  )
  const { code, stdout } = await execute('dead-letters', 'list')
  expect(code).toBe(0)
  expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect(stdout.split('\n')).toHaveLength(11)
  expect(stdout).toMatch(
    /^2026-11-19T10:00:00Z {2}101 {3}2026-11-19 {2}siem {2}refused\n {4}a {2}400\\n\\u001b\[2Jgone/m,
  )
  expect(stdout).toMatch(/\nsiem: 2 refused\nold: 1 refused\n$/)

  const json = await execute('dead-letters', 'list', '--sink', 'siem', '--json')
  expect(json.stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect(JSON.parse(json.stdout)).toEqual({
    deadLetters: [
      {
        zone: 101,
        day,
        sink: 'siem',
        id: 'a',
        reason: 'refused',
        answer: hostile,
        at: '2026-11-19T10:00:00.500Z',
      },
      {
        zone: 101,
        day,
        sink: 'siem',
        id: 'b\u0007',
        reason: 'refused',
        answer: 'no',
        at: '2026-11-19T10:00:00.500Z',
      },
    ],
    counts: [{ sink: 'siem', reason: 'refused', count: 2 }],
  })
  // A sink that left the configuration has its dead letters still; one that never was is a slip.
  expect((await execute('dead-letters', 'list', '--sink', 'old')).stdout).toContain('old: 1 refused')
  expect((await execute('dead-letters', 'list', '--sink', 'sime')).stderr).toContain('did you mean siem?')
})

test('lists the dead letters of one zone and day', async () => {
  const { folder, execute } = openWorkshop()
  await fillWith([deadLetter('siem', 'a', 'no')], folder)
  const listed = async (...args: string[]) => (await execute('dead-letters', 'list', ...args)).stdout
  expect(await listed('--zone', 'shop', '--day', day)).toContain('siem: 1 refused')
  expect(await listed('--zone', '102')).toBe('no dead letters\n')
  expect(await listed('--day', 'today')).toBe('no dead letters\n')
})
