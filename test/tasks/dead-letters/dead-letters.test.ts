import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { systemClock } from '../../../src/clock.ts'
import { newCheckpoint } from '../../../src/domain/checkpoint.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { commitOnce } from '../../contract/checkpoint-store/builders.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import { executeWith, openWorkshop } from '../workshop.ts'

const day = '2026-11-19' as Day
const at = Date.parse('2026-11-19T10:00:00.500Z')
/** An answer that is no text for a terminal. */
const hostile = '400\n\u001B[2Jgone \u202Ebad'

function letter(id: string, more: Partial<DeadLetter> = {}): DeadLetter {
  const entry = { logId: id, timestamp: at, log: '{"a":1}', labels: { status: 'Blocked', note: '\u001B[2J' } }
  const event = JSON.stringify(entry).replace('{"logId"', '{"more":12345678901234567890,"logId"')
  return { zone: 101, day, sink: 'siem', id, reason: 'refused', answer: 'no', at, event, ...more }
}

const deadLetters = [
  letter('a,1', { answer: hostile }),
  letter('b\u0007', { reason: 'too_large' }),
  letter('c', { zone: 102, event: '{' }),
  letter('d', { sink: 'archive', reason: 'unmappable', event: '{' }),
]
const ids = deadLetters.map(({ id }) => id)

/** A workshop whose store has these dead letters; `archive` is configured, and `siem` not any more. */
async function filled() {
  const workshop = openWorkshop()
  const path = join(workshop.folder, 'var', 'shieldlog.db')
  const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1_000_000 })
  for (const own of Map.groupBy(deadLetters, ({ zone, sink }) => `${zone} ${sink}`).values()) {
    const { zone, sink } = own[0]!
    const stream = { zone, day, sink }
    const { counters } = newCheckpoint(stream, at, unknownOrdering)
    const waiting = { committed: [], counters: { ...counters, deadLetters: own.length } }
    await commitOnce(store, stream, { with: waiting, deadLetters: own })
  }
  await store.close()
  const configFile = join(workshop.folder, 'shieldlog.yaml')
  const tell = (verb: string, ...args: readonly string[]) =>
    executeWith(configFile, ['dead-letters', verb, ...args])
  /** Of those that are kept, or that the options select. */
  const idsOf = async (...args: readonly string[]) => {
    const { stdout } = await tell('list', '--json', ...args)
    return (JSON.parse(stdout) as { deadLetters: readonly DeadLetter[] }).deadLetters.map(({ id }) => id)
  }
  return { configFile, tell, idsOf }
}

const lines = (text: string) => text.split('\n').filter(Boolean)

test('list prints a table and show whole events as YAML, with control characters escaped', async () => {
  const { tell } = await filled()
  const { code, stdout } = await tell('list')
  expect([code, lines(stdout)]).toMatchObject([0, { length: 7 }])
  expect(stdout).toMatch(
    /^2026-11-19T10:00:00Z {2}101 {3}2026-11-19 {2}siem {5}refused {5}a,1 {6}400\\n\\u001b\[2Jgone/m,
  )
  expect(stdout).toMatch(/\n\nsiem: 2 refused, 1 too_large\narchive: 1 unmappable\n$/)
  const shown = await tell('show', '--id', 'a,1', '--id', 'c')
  const [first, second] = (parse(shown.stdout) as { deadLetters: readonly object[] }).deadLetters
  const event = { action: 'Blocked', other: { more: '12345678901234567890' } }
  expect(first).toMatchObject({ id: 'a,1', reason: 'refused', answer: hostile, event })
  expect(second).toMatchObject({ problem: expect.stringContaining('a stored event is damaged') as string })
  for (const text of [stdout, shown.stdout, (await tell('list', '--json')).stdout])
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
})

test('list --json has no events; show --json has them, and export prints each on a line', async () => {
  const { tell } = await filled()
  const of = { zone: 101, day, sink: 'siem', at: '2026-11-19T10:00:00.500Z' }
  const first = { ...of, id: 'a,1', reason: 'refused', answer: hostile }
  const second = { ...of, id: 'b\u0007', reason: 'too_large', answer: 'no' }
  const count = (reason: string) => ({ sink: 'siem', reason, count: 1 })
  expect(JSON.parse((await tell('list', '--zone', '101', '--sink', 'siem', '--json')).stdout)).toEqual({
    deadLetters: [first, second],
    counts: [count('refused'), count('too_large')],
  })
  const text = lines((await tell('export')).stdout)
  expect(text[0]).toContain('"other":{"more":12345678901234567890')
  const exported = text.map((line) => JSON.parse(line) as unknown)
  expect(exported).toMatchObject([
    { ...first, event: { v: 1, id: 'a,1', action: 'Blocked', log: { a: 1 } } },
    second,
    { id: 'c', event: null, problem: expect.stringContaining('damaged') },
    { id: 'd' },
  ])
  expect(JSON.parse((await tell('show', '--json')).stdout)).toEqual({ deadLetters: exported })
})

test('all of them select by id, reason, number, zone, day and sink', async () => {
  const { tell, idsOf } = await filled()
  expect(await idsOf('--id', 'a,1', '--id', 'c')).toEqual(['a,1', 'c'])
  expect(await idsOf('--reason', 'too_large')).toEqual(['b\u0007'])
  expect(await idsOf('--limit', '2')).toEqual(ids.slice(0, 2))
  expect(await idsOf('--zone', '102')).toEqual(['c'])
  expect(await idsOf('--day', 'today')).toEqual([])
  expect(await idsOf('--id', 'nope')).toEqual([])
  for (const [args, why] of [
    [['--reason', 'size'], 'Allowed choices are refused'],
    [['--zone', '103'], '--zone 103 is not known'],
    // A sink that left the configuration has its dead letters still; one that never was is a slip.
    [['--sink', 'sime'], 'did you mean siem?'],
  ] as const)
    expect(await tell('drop', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
  expect((await tell('drop', '--sink', 'siem', '--zone', '102', '--yes')).stdout).toBe(
    'dropped of siem: 1 refused\n',
  )
  expect((await tell('drop', '--limit', '1', '--yes')).stdout).toBe('dropped of siem: 1 refused\n')
  expect(await idsOf()).toEqual([ids[1], 'd'])
})

test('drop asks for confirmation, and obeys the answer', async () => {
  const { configFile, idsOf } = await filled()
  const asked: string[] = []
  const drop = (answer: string) => {
    const ask = async (question: string) => (asked.push(question), answer)
    return executeWith(configFile, ['dead-letters', 'drop', '--zone', 'shop'], { ask })
  }
  for (const answer of ['', 'n', 'nay'])
    expect(await drop(answer)).toEqual({ code: 1, stdout: '', stderr: 'nothing was dropped\n' })
  expect(await idsOf()).toEqual(ids)
  expect(await drop('y')).toMatchObject({
    code: 0,
    stdout: 'dropped of siem: 1 refused, 1 too_large\ndropped of archive: 1 unmappable\n',
  })
  expect(asked.at(-1)).toBe(
    'drop 3 dead letters (siem: 1 refused, 1 too_large; archive: 1 unmappable)? They cannot be replayed afterwards. [y/N] ',
  )
  expect(await idsOf()).toEqual(['c'])
})

test('a dead letter that cannot be parsed stays in a replay, with the reason', async () => {
  const { tell, idsOf } = await filled()
  const replayed = await tell('replay', '--sink', 'archive', '--json')
  expect([replayed.code, JSON.parse(replayed.stdout)]).toEqual([
    1,
    { sinks: [{ sink: 'archive', delivered: 0, gone: 0, left: 0, refusedAgain: { unmappable: 1 } }] },
  ])
  expect((await idsOf()).toSorted()).toEqual(ids)
  const listed = await tell('list', '--sink', 'archive')
  expect(listed.stdout).toMatch(/unmappable +d +a stored event is damaged/)
})

test.each([['list'], ['show'], ['replay'], ['drop', '--yes']])(
  '%s names an id without a dead letter, and exits with 1',
  async (verb, ...args) => {
    const { tell } = await filled()
    const { code, stderr } = await tell(verb, ...args, '--id', 'd', '--id', 'nope', '--limit', '2')
    const why = 'no dead letter of event nope matches; to see them: shieldlog dead-letters list'
    expect([code, stderr]).toEqual([1, expect.stringContaining(why)])
    expect(stderr).not.toContain('event d matches')
  },
)
