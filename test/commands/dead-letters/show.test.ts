import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import { storeEvent } from '../../../src/domain/event/stored-event.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { eventsOf } from '../../../src/shield/entries/entry-event.ts'
import { executeWith, openWorkshop } from '../workshop.ts'
import { at, day, deadLetter, fillWith } from './fill.ts'

function stored(id: string): string {
  const entry = { logId: id, timestamp: at, log: '{"a":1}', labels: { status: 'Blocked', note: '\u001B[2J' } }
  return storeEvent(eventsOf([entry], { id: 101, name: 'shop' }, createRedactor('off'))[0]!)
}

async function filled() {
  const workshop = openWorkshop()
  const letter = (id: string, more: Partial<DeadLetter> = {}) =>
    deadLetter(id, { answer: '400 no \u001B[2J', event: stored(id), ...more })
  const deadLetters = [letter('a,1'), letter('b', { reason: 'too_large' }), letter('c', { event: '{}' })]
  await fillWith(deadLetters, workshop.folder)
  return workshop
}

const lines = (text: string) => text.split('\n').filter(Boolean)

test('show prints the event and the answer with control characters escaped', async () => {
  const { execute, folder } = await filled()
  const { code, stdout } = await execute('dead-letters', 'show', '--id', 'a,1')
  expect(code).toBe(0)
  expect(stdout).not.toMatch(/[^\P{Cc}\n]/u)
  expect(stdout).toMatch(/^siem refused event a,1\n {2}when {4}2026-11-19T10:00:00Z, refused\n/)
  expect(stdout).toContain('  answer  400 no \\u001b[2J\n')
  expect(stdout).toContain('    "action": "Blocked",\n')
  expect((await execute('dead-letters', 'show', '--id', 'c')).stdout).toContain(
    '  event   cannot be read: a stored event is damaged',
  )
  let narrow = ''
  const stdoutOf80 = { write: (text: string) => void (narrow += text), isTTY: true, columns: 80 }
  await executeWith(join(folder, 'shieldlog.yaml'), ['dead-letters', 'show'], { stdout: stdoutOf80 })
  for (const line of lines(narrow)) expect(line.length).toBeLessThanOrEqual(80)
})

test('export prints one JSON object per line, and show --json prints one list', async () => {
  const { execute } = await filled()
  const exported = await execute('dead-letters', 'export')
  const objects = lines(exported.stdout).map((line) => JSON.parse(line) as unknown)
  expect(objects).toMatchObject([
    {
      zone: 101,
      day,
      sink: 'siem',
      id: 'a,1',
      reason: 'refused',
      at: '2026-11-19T10:00:00.500Z',
      event: { v: 1 },
    },
    { id: 'b', reason: 'too_large', event: { id: 'b', action: 'Blocked', log: { a: 1 } } },
    { id: 'c', event: null, problem: expect.stringContaining('damaged') },
  ])
  expect(JSON.parse((await execute('dead-letters', 'show', '--json')).stdout)).toEqual({
    deadLetters: objects,
  })
})

test('all of them select by id, reason and number', async () => {
  const { execute } = await filled()
  const ids = async (...args: string[]) =>
    lines((await execute('dead-letters', 'export', ...args)).stdout).map(
      (line) => (JSON.parse(line) as { id: string }).id,
    )
  expect(await ids('--id', 'a,1', '--id', 'c')).toEqual(['a,1', 'c'])
  expect(await ids('--reason', 'too_large')).toEqual(['b'])
  expect(await ids('--limit', '2')).toEqual(['a,1', 'b'])
  expect(await ids('--id', 'nope')).toEqual([])
  const refused = await execute('dead-letters', 'list', '--reason', 'size')
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Allowed choices are refused')])
  const dropped = await execute('dead-letters', 'drop', '--id', 'b', '--yes')
  expect(dropped.stdout).toBe('dropped of siem: 1 too_large\n')
  expect((await execute('dead-letters', 'drop', '--limit', '1', '--yes')).stdout).toBe(
    'dropped of siem: 1 refused\n',
  )
  expect(await ids()).toEqual(['c'])
})

test.each([['list'], ['show'], ['export'], ['replay'], ['drop', '--yes']])(
  '%s names an id without a dead letter, and exits with 1',
  async (...verb) => {
    const { execute } = await filled()
    const nope = await execute('dead-letters', ...verb, '--id', 'nope')
    expect([nope.code, nope.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^no dead letter of event nope matches; to see them: shieldlog dead-letters list/,
      ),
    ])
    const one = await execute('dead-letters', ...verb, '--id', 'b', '--id', 'nope', '--limit', '2')
    expect([one.code, one.stderr]).toEqual([1, expect.stringContaining('event nope matches')])
    expect(one.stderr).not.toContain('event b matches')
  },
)
