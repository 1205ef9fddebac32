import { describe, expect, test } from 'vitest'
import { waitFor } from '../setup/wait-for.ts'
import { redisServerAvailable } from '../setup/redis.ts'
import type { TestProcess } from '../setup/processes.ts'
import { drained, endAt, isLong, killed, nextRound, redisWorld, thaw, timeout } from './crash-world.ts'

/** Where the store takes part; all else is the same over SQLite, where every step is tried. */
const committing = killed.filter((each) => each.includes('commit'))

/** Where a process that was taken for dead may still do harm when it comes back. */
const harmful = ['amid:write:1', 'amid:post:2', 'before:commit@archive:1', 'amid:commit@siem:1']

/** Drained a second time, or ended. */
function isThrough(child: TestProcess): boolean {
  return !child.isRunning() || child.stderr().split('drained').length > 2
}

describe.skipIf(!redisServerAvailable())('over Redis', () => {
  test('killed between a delivery and its commit: nothing lost, nothing twice', { timeout }, async () => {
    const world = await redisWorld()
    await endAt(world, 'kill', isLong ? killed : committing)
    await world.expectEnd()
  })

  test(
    'frozen at steps, and resumed when another process has shipped everything: the same',
    { timeout },
    async () => {
      const world = await redisWorld()
      let before = 'the start'
      let repeated = 0
      for (const moment of isLong ? killed : harmful) {
        const child = world.start(['--rounds', '--freeze', moment])
        await nextRound(world, child, before)
        await child.waitForLine(/^frozen$/)
        await world.bury()
        const other = world.start(['--once'])
        expect(await other.exited, other.stderr()).toEqual({ code: 0, signal: null })
        repeated += world.repeated()
        await thaw(child)
        // It has lost the streams that it was on, says so, and leaves what it wrote for the next one to take back.
        await waitFor(() => isThrough(child), {
          what: () => `the end of its round: ${child.stderr().slice(-2000)}`,
        })
        if (child.isRunning()) await child.kill('SIGTERM')
        await child.exited
        await world.bury()
        before = `frozen ${moment}`
      }
      await drained(world, before)
      // Else none was frozen with lines that nobody has committed, and nothing was tried here.
      expect(repeated).toBeGreaterThan(0)
    },
  )
})
