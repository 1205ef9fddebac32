import { describe, expect, it } from 'vitest'
import { unpackFingerprints } from '../../../src/domain/event/seen.ts'
import type { Store } from '../../../src/ports/store.ts'
import { buildStream } from '../../contract/checkpoint-store/builders.ts'
import { startProgram, type TestProcess } from '../../setup/processes.ts'
import { redisServerAvailable, startRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { openAt, stateAt } from './opening.ts'

/** Whole lines only: a killed process may leave half of one. */
function acknowledged(child: TestProcess): number[] {
  const lines = child.stdout().split('\n').slice(0, -1)
  return lines.map((line) => Number(line.split(' ')[0]))
}

/** Everything that `commits` commits of the loop wrote is there once, and nothing of a further one. */
async function expectWhole(store: Store, zone: number, commits: number): Promise<void> {
  const stream = buildStream({ zone })
  const minutes = Array.from({ length: 305 }, (_, minute) => minute)
  const seen = await store.ledger.loadSeen(stream, minutes)
  const found = [...seen.values()].flatMap(unpackFingerprints).map(Number)
  expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: commits * 100 }, (_, index) => index))
  const deadLetters = (await store.deadLetters.list()).filter((deadLetter) => deadLetter.zone === zone)
  expect(deadLetters).toHaveLength(commits)
}

describe.skipIf(!redisServerAvailable())('processes on one store', async () => {
  if (!redisServerAvailable()) return
  const server = await startRedis()

  it('lose no acknowledged commit and keep no partial one when they are killed at any time', async () => {
    const state = stateAt(server.url)
    const store = await openAt(state)
    let before = 0
    for (let kill = 0; kill < 3; kill++) {
      const child = startProgram('commitsToRedis', [server.url, state.keyPrefix, '1'])
      await waitFor(() => acknowledged(child).length > 10 + kill * 7, { what: 'commits', everyMs: 1 })
      await child.kill('SIGKILL')
      const said = acknowledged(child).at(-1) ?? 0
      const commits = (await store.ledger.read(buildStream({ zone: 1 })))?.commit ?? 0
      // The answer of the last commit may have died with the process.
      expect(commits - said).toBeOneOf([0, 1])
      expect(said).toBeGreaterThan(before)
      await expectWhole(store, 1, commits)
      before = commits
    }
  })

  it('on one stream: the one that took it last continues, the others are refused', async () => {
    const state = stateAt(server.url)
    const first = startProgram('commitsToRedis', [server.url, state.keyPrefix, '1'])
    await first.waitForLine(/^3 /)
    const second = startProgram('commitsToRedis', [server.url, state.keyPrefix, '1', '50'])
    expect(await first.exited).toEqual({ code: 0, signal: null })
    expect(await second.exited).toEqual({ code: 0, signal: null })
    const [lastOfFirst, firstOfSecond] = [acknowledged(first).at(-1)!, acknowledged(second)[0]!]
    expect(firstOfSecond).toBe(lastOfFirst + 1)
    await expectWhole(await openAt(state), 1, lastOfFirst + 50)
  })
})
