import { describe, expect, test } from 'vitest'
import type { BackfillStatus } from '../../src/domain/plan/status.ts'
import { stores, type CrashWorld } from './crash-world.ts'

const moments = [
  'before:backfill:1',
  // Made, and not begun.
  'amid:backfill:1',
  'amid:write:1',
  'before:commit@archive:1',
  // One of its streams may be settled.
  'after:commit@archive:1',
]

async function backfills({ place }: CrashWorld): Promise<readonly BackfillStatus[]> {
  const { code, stdout, stderr } = await place.ended(['backfill', 'list', '--json'])
  expect(code, stderr).toBe(0)
  return (JSON.parse(stdout) as { readonly backfills: readonly BackfillStatus[] }).backfills
}

describe.for(stores.filter(({ isThere }) => isThere))('a backfill over $store', ({ makeWorld }) => {
  test('killed from its start to its end ships each event once', async () => {
    const world = await makeWorld()
    const { days } = world
    expect((await world.ended(['run', '--once'])).code).toBe(0)
    const range = `${days[0]}:${days[1]}`
    for (const moment of moments) {
      world.append([days[0]!, days[1]!])
      const child = world.start(['--backfill', range, '--kill', moment])
      expect(await child.exited, `${moment}: ${child.stderr()}`).toEqual({ code: null, signal: 'SIGKILL' })
      await world.bury()
    }
    const made = await backfills(world)
    expect(made).toHaveLength(moments.length - 1)
    for (const { id, state } of await backfills(world)) {
      if (state !== 'running') continue
      const resumed = await world.ended(['backfill', 'resume', id])
      expect(resumed.code, resumed.stderr).toBe(0)
    }
    expect((await backfills(world)).map(({ state }) => state)).toEqual(made.map(() => 'done'))
    world.expectWhole('backfills')
  })
})
