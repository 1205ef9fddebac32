import { expect, test } from 'vitest'
import { backfillsOf } from '../tasks/backfill/backfilling.ts'
import { crashWorld } from './crash-world.ts'

const moments = [
  'before:backfill:1',
  // Made, and not begun.
  'amid:backfill:1',
  'amid:write:1',
  'before:commit@archive:1',
  // One of its streams may be settled.
  'after:commit@archive:1',
]

// The steps of a backfill are the same over both stores.
test('a backfill that is killed from its start to its end ships each event once', async () => {
  const world = await crashWorld()
  const { days } = world
  expect((await world.ended(['run', '--once'])).code).toBe(0)
  const range = `${days[0]}:${days[1]}`
  for (const moment of moments) {
    world.append([days[0]!, days[1]!])
    const child = world.start(['--backfill', range, '--kill', moment])
    expect(await child.exited, `${moment}: ${child.stderr()}`).toEqual({ code: null, signal: 'SIGKILL' })
    await world.bury()
  }
  const made = await backfillsOf(world.place)
  expect(made).toHaveLength(moments.length - 1)
  for (const { id, state } of await backfillsOf(world.place)) {
    if (state !== 'running') continue
    const resumed = await world.ended(['backfill', 'resume', id])
    expect(resumed.code, resumed.stderr).toBe(0)
  }
  expect((await backfillsOf(world.place)).map(({ state }) => state)).toEqual(made.map(() => 'done'))
  world.expectWhole('backfills')
})
