import { expect, test } from 'vitest'
import { waitFor } from '../setup/wait-for.ts'
import {
  crashWorld,
  drained,
  endAt,
  isLong,
  killed,
  nextRound,
  stopped,
  thaw,
  timeout,
} from './crash-world.ts'

test(
  'killed at every step that leaves something, over SQLite: nothing lost, nothing twice',
  { timeout },
  async () => {
    const world = await crashWorld()
    await endAt(world, 'kill', [...killed, 'before:transaction:3', 'after:transaction:4'])
    await world.expectEnd()
  },
)

test('stopped at steps, and frozen and resumed there: the same', { timeout }, async () => {
  const world = await crashWorld()
  await endAt(world, 'stop', stopped)
  for (const moment of isLong ? killed : ['amid:write:1', 'after:deliver@siem:1']) {
    const child = world.start(['--rounds', '--freeze', moment])
    await nextRound(world, child, 'stops')
    await child.waitForLine(/^frozen$/)
    await thaw(child)
    const rounds = () => child.stderr().match(/^drained$/gm)?.length
    await waitFor(() => rounds() === 2, { what: () => `the second round: ${child.stderr().slice(-2000)}` })
    world.expectWhole(`frozen ${moment}`)
    expect(await child.kill('SIGTERM'), child.stderr()).toEqual({ code: 0, signal: null })
  }
  // A delivery that a stop cut short comes again like one that a kill did.
  await drained(world, 'all of them')
})
