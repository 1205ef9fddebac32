import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import { newCheckpoint } from '../../../src/domain/checkpoint.ts'
import type { Day } from '../../../src/domain/day.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import { openWorkshop } from '../workshop.ts'

const day = '2026-11-19' as Day
const at = Date.parse('2026-11-19T10:00:00.500Z')

function deadLetter(sink: string, id: string, answer: string): DeadLetter {
  return { zone: 101, day, sink, id, reason: 'refused', answer, at, event: '{}' }
}

async function fill(folder: string, all: readonly DeadLetter[]): Promise<void> {
  const path = join(folder, 'var', 'shieldlog.db')
  const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1_000_000 })
  for (const [sink, deadLetters] of Map.groupBy(all, (each) => each.sink)) {
    const stream = { zone: 101, day, sink }
    const { fence } = await store.ledger.take(stream, { id: 'test', schedule: false })
    const next = { ...newCheckpoint(stream, at, unknownOrdering), commit: 1 }
    await store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters, gaps: [] })
  }
  await store.close()
}

test('lists refused events with control characters escaped', async () => {
  const { folder, execute } = openWorkshop()
  expect(await execute('dead-letters', 'list')).toEqual({ code: 0, stdout: 'no dead letters\n', stderr: '' })
  const hostile = '400\n\u001B[2Jgone \u202Ebad'
  await fill(folder, [
    deadLetter('siem', 'a', hostile),
    deadLetter('siem', 'b\u0007', 'no'),
    deadLetter('old', 'c', 'no'),
  ])
  const { code, stdout } = await execute('dead-letters', 'list')
  expect(code).toBe(0)
  expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect(stdout.split('\n')).toHaveLength(8)
  expect(stdout).toMatch(
    /^2026-11-19T10:00:00Z {2}101 {3}2026-11-19 {2}siem {2}refused {2}a +400\\n\\u001b\[2Jgone/m,
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
  await fill(folder, [deadLetter('siem', 'a', 'no')])
  const listed = async (...args: string[]) => (await execute('dead-letters', 'list', ...args)).stdout
  expect(await listed('--zone', 'shop', '--day', day)).toContain('siem: 1 refused')
  expect(await listed('--zone', '102')).toBe('no dead letters\n')
  expect(await listed('--day', 'today')).toBe('no dead letters\n')
})
