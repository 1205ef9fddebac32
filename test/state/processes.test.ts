import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { unpackFingerprints } from '../../src/domain/event/seen.ts'
import type { Store } from '../../src/ports/store.ts'
import { buildStream, nothingOld } from '../contract/checkpoint-store/builders.ts'
import { startProgram, type TestProcess } from '../setup/processes.ts'
import { redisAvailable, useRedis } from '../setup/redis.ts'
import { openSqliteStore } from '../setup/stores.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openAt, stateAt } from './redis/opening.ts'

interface Place {
  /** What the processes are told of it. */
  readonly text: string
  readonly open: () => Promise<Store>
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  async sqlite() {
    const path = join(temporaryFolder(), 'var', 'store.db')
    return { text: path, open: () => openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1e9 }) }
  },
  async redis() {
    const { url, keyPrefix } = await useRedis()
    const state = stateAt(url, { keyPrefix })
    return { text: JSON.stringify(state), open: () => openAt(state) }
  },
}

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
  const ledger = await store.ledger.minutes(stream)
  expect(ledger.map(({ count }) => count)).toEqual(ledger.map(({ minute }) => seen.get(minute)!.length / 8))
  const deadLetters = (await store.deadLetters.list()).filter((deadLetter) => deadLetter.zone === zone)
  expect(deadLetters).toHaveLength(commits)
}

describe.each(redisAvailable() ? ['sqlite', 'redis'] : ['sqlite'])('processes on one store in %s', (kind) => {
  it('lose no acknowledged commit and keep no partial one when they are killed at any time', async () => {
    const { text, open } = await places[kind]!()
    // Commits of one turn are written together.
    const zones = kind === 'sqlite' ? [1, 2, 3] : [1]
    let before = 0
    for (let kill = 0; kill < 4; kill++) {
      const child = startProgram('commits', [text, zones.join()])
      await waitFor(() => acknowledged(child).length > kill * 7, { what: 'commits', everyMs: 1 })
      await child.kill('SIGKILL')
      const said = acknowledged(child).at(-1) ?? 0
      const store = await open()
      for (const zone of zones) {
        const commits = (await store.ledger.read(buildStream({ zone })))?.commit ?? 0
        // The answer of the last commit may have died with the process.
        expect(commits - said).toBeOneOf([0, 1])
        await expectWhole(store, zone, commits)
      }
      expect(said).toBeGreaterThan(before)
      await store.close()
      before = said
      if (kind === 'sqlite') {
        using database = new DatabaseSync(text)
        expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
      }
    }
  })

  it('commit in parallel, each to a different stream, while another one reads and writes too', async () => {
    const { text, open } = await places[kind]!()
    // They start at once where there is nothing yet.
    const children = [1, 2, 3].map((zone) => startProgram('commits', [text, String(zone), '150']))
    const store = await open()
    let turns = 0
    while (children.some((child) => child.isRunning())) {
      const route = { zone: turns++, sink: 'x', firstDay: buildStream().day, plannedAtMs: turns }
      await store.catalogue.rememberRoutes([route])
      await store.catalogue.checkpoints()
      await store.upkeep.prune([], nothingOld)
    }
    const exits = await Promise.all(children.map(({ exited }) => exited))
    expect(children.map((child) => child.stderr())).toEqual(['', '', ''])
    expect(exits.map(({ code }) => code)).toEqual([0, 0, 0])
    for (const zone of [1, 2, 3]) await expectWhole(store, zone, 150)
    expect(await store.catalogue.routes()).toHaveLength(turns)
    await store.close()
  })
})
