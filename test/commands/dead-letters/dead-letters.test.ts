import { expect, test } from 'vitest'
import { openWorkshop } from '../workshop.ts'
import { day, deadLetter, fillWith } from './fill.ts'

test('lists refused events with control characters escaped', async () => {
  const { folder, execute } = openWorkshop()
  expect(await execute('dead-letters', 'list')).toEqual({ code: 0, stdout: 'no dead letters\n', stderr: '' })
  const hostile = '400\n\u001B[2Jgone \u202Ebad'
  await fillWith(
    [deadLetter('a', { answer: hostile }), deadLetter('b\u0007'), deadLetter('c', { sink: 'old' })],
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
  const listed = { zone: 101, day, sink: 'siem', reason: 'refused', at: '2026-11-19T10:00:00.500Z' }
  expect(JSON.parse(json.stdout)).toEqual({
    deadLetters: [
      { ...listed, id: 'a', answer: hostile },
      { ...listed, id: 'b\u0007', answer: 'no' },
    ],
    counts: [{ sink: 'siem', reason: 'refused', count: 2 }],
  })
  // A sink that left the configuration has its dead letters still; one that never was is a slip.
  expect((await execute('dead-letters', 'list', '--sink', 'old')).stdout).toContain('old: 1 refused')
  expect((await execute('dead-letters', 'list', '--sink', 'sime')).stderr).toContain('did you mean siem?')
})
