import { describe, expect, test } from 'vitest'
import { executeWith } from '../commands/workshop.ts'
import { redisAvailable } from '../setup/redis.ts'
import { isLong } from './crash-matrix.ts'
import { poisoned, type Poisoned } from './poisoned.ts'
import { linesBelow } from './shipped.ts'

const stores = redisAvailable() ? ['sqlite', 'redis'] : ['sqlite']

async function expectNoneLeft({ place }: Poisoned): Promise<void> {
  const listed = await executeWith(place.configFile, ['dead-letters', 'list'])
  expect(listed.stdout).toBe('no dead letters\n')
}

/** What the killed one had shipped counts too. */
const replayed = /^siem: \d+ delivered(?:, \d+ already replayed or dropped)?\n$/

const moments = [
  'before:commit:1',
  'after:commit:1',
  'before:commit:2',
  'before:datasync:2',
  'after:datasync:2',
]

describe('a replay into files that is killed', () => {
  // Between two stores only the commit differs.
  const cases = stores.flatMap((kind) =>
    (kind === 'redis' ? moments.slice(0, 1) : moments).map((moment) => [kind, moment] as const),
  )

  test.for(cases)('over %s at %s ships each dead letter once', async ([kind, moment]) => {
    const stage = await poisoned(kind)
    stage.intoFiles()
    await stage.replayKilled(moment)
    expect(await stage.replay()).toMatch(replayed)
    const ids = linesBelow(stage.place.events).map(({ line }) => line.id)
    expect(ids.sort()).toEqual(stage.poison.toSorted())
    await expectNoneLeft(stage)
  })

  // Of such a day only what was written and not committed is in question: the commits are the same.
  const ofOldDay = ['before:commit:1', 'after:datasync:2']
  const isTried = ([kind, moment]: (typeof cases)[number]) => kind === 'sqlite' && ofOldDay.includes(moment)
  test.for(isLong ? cases : cases.filter(isTried))(
    'over %s at %s, of a day that can no longer be read, ships each dead letter once',
    async ([kind, moment]) => {
      const stage = await poisoned(kind, -5)
      stage.intoFiles()
      await stage.replayKilled(moment)
      expect(await stage.replay()).toMatch(replayed)
      const ids = linesBelow(stage.place.events).map(({ line }) => line.id)
      expect(ids.sort()).toEqual(stage.poison.toSorted())
      await expectNoneLeft(stage)
    },
  )
})

describe('a replay over HTTP that is killed', () => {
  test.for(stores)(
    'over %s ships each dead letter at least once, each time with the same bytes',
    async (kind) => {
      const stage = await poisoned(kind)
      const { siem, poison } = stage
      const before = siem.got.length
      await stage.replayKilled('before:commit:1')
      await stage.replayKilled('before:commit:2')
      expect(await stage.replay()).toMatch(replayed)
      const bodies = new Map<string, string>()
      const lines = new Map<string, string>()
      for (const { headers, text, lines: own } of siem.got.slice(before)) {
        const key = String(headers['idempotency-key'])
        expect(bodies.get(key) ?? text).toBe(text)
        bodies.set(key, text)
        for (const line of own) {
          const { id } = JSON.parse(line) as { id: string }
          expect(lines.get(id) ?? line).toBe(line)
          lines.set(id, line)
        }
      }
      expect([...lines.keys()].sort()).toEqual(poison.toSorted())
      // Else no kill came between a delivery and its commit, and nothing was tried here.
      expect(siem.got.length - before).toBeGreaterThan(bodies.size)
      await expectNoneLeft(stage)
    },
  )
})
