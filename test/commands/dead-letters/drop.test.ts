import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import { executeWith, openWorkshop } from '../workshop.ts'
import { deadLetter, fillWith } from './fill.ts'

/** A workshop whose store has dead letters of two sinks; none of them can be read back to an event. */
async function filled() {
  const workshop = openWorkshop()
  const deadLetters = [
    deadLetter('a'),
    deadLetter('b', { reason: 'too_large' }),
    deadLetter('c', { zone: 102 }),
    deadLetter('d', { sink: 'archive', reason: 'unmappable' }),
  ]
  await fillWith(deadLetters, workshop.folder)
  const ids = async () => {
    const listed = await workshop.execute('dead-letters', 'list', '--json')
    const { deadLetters } = JSON.parse(listed.stdout) as { deadLetters: readonly DeadLetter[] }
    return deadLetters.map(({ id }) => id).sort()
  }
  return { ...workshop, configFile: join(workshop.folder, 'shieldlog.yaml'), ids }
}

test('asks for confirmation without --sink, and obeys the answer', async () => {
  const { configFile, ids } = await filled()
  const asked: string[] = []
  const answering = (answer: string) => ({
    async ask(question: string) {
      asked.push(question)
      return answer
    },
  })
  for (const answer of ['', 'n', 'nay'])
    expect(await executeWith(configFile, ['dead-letters', 'drop'], answering(answer))).toEqual({
      code: 1,
      stdout: '',
      stderr: 'nothing was dropped\n',
    })
  expect(await ids()).toEqual(['a', 'b', 'c', 'd'])
  const dropped = await executeWith(configFile, ['dead-letters', 'drop', '--zone', 'shop'], answering('y'))
  expect([dropped.code, dropped.stdout.split('\n').sort()]).toEqual([
    0,
    ['', 'dropped of archive: 1 unmappable', 'dropped of siem: 1 refused, 1 too_large'],
  ])
  expect(asked.at(-1)).toBe(
    'drop 3 dead letters (archive: 1 unmappable; siem: 1 refused, 1 too_large)? They cannot be replayed afterwards. [y/N] ',
  )
  expect(await ids()).toEqual(['c'])
})

test('drops exactly the selected dead letters', async () => {
  const { execute, ids } = await filled()
  expect((await execute('dead-letters', 'drop', '--sink', 'siem', '--zone', '102', '--yes')).stdout).toBe(
    'dropped of siem: 1 refused\n',
  )
  expect((await execute('dead-letters', 'drop', '--sink', 'siem', '--day', 'today')).stdout).toBe(
    'no dead letters\n',
  )
  const unknown = await execute('dead-letters', 'drop', '--zone', '103')
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('--zone 103 is not known')])
  expect(await ids()).toEqual(['a', 'b', 'd'])
})

test('a dead letter that cannot be parsed stays in a replay, with the reason', async () => {
  const { execute, ids } = await filled()
  const replayed = await execute('dead-letters', 'replay', '--sink', 'archive', '--json')
  expect([replayed.code, JSON.parse(replayed.stdout)]).toEqual([
    1,
    { sinks: [{ sink: 'archive', delivered: 0, gone: 0, left: 0, refusedAgain: { unmappable: 1 } }] },
  ])
  expect(await ids()).toEqual(['a', 'b', 'c', 'd'])
  const listed = await execute('dead-letters', 'list', '--sink', 'archive')
  expect(listed.stdout).toMatch(/unmappable\n +d +a stored event is damaged/)
})
