import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { createHousekeeping } from '../../src/maintenance/housekeeping/housekeep.ts'
import { inStore, told } from '../commands/backfilling.ts'
import { policy } from '../domain/builders.ts'
import { startProgram } from '../setup/processes.ts'
import { redisServerAvailable, useRedis } from '../setup/redis.ts'
import { archived, command, days, readLines, whole } from './backfill-archive.ts'
import { receiver } from './receiver.ts'
import { endOf, zones, type Ended, type Workplace } from './workplace.ts'
import { forgetHolders } from '../setup/stores.ts'

function killed(place: Workplace, deadline: string, sink: string): Promise<Ended> {
  const args = ['--kill', deadline, '--', ...command, '--sink', sink, '-c', place.configFile]
  return endOf(startProgram('command', args, { cwd: place.folder }))
}

const count = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]?.replaceAll(',', ''))

// Each zone and day takes: fence, beginning, release, fence, page, release, fence, end, release.
test.for([
  'after:transaction:3',
  'before:datasync:1',
  'after:datasync:1',
  'after:datasync:3',
  'before:transaction:12',
  'after:transaction:18',
  'after:transaction:30',
])('killed %s, and run again: each event once', async (deadline) => {
  const { place, copy, ship } = await archived()
  const lines = readLines(place.events)
  const ended = await killed(place, deadline, 'copy')
  expect(ended.signal, ended.stderr).toBe('SIGKILL')
  forgetHolders(place.database)
  await housekeep(place)
  const after = await ship('--sink', 'copy')
  expect(after.code, after.stderr).toBe(0)
  expect(readLines(copy)).toEqual(lines)
  const audit = await told(place, 'audit', '--zone', '101', '--day', days[0], '--sink', 'copy', '--deep')
  expect(audit.code, audit.stdout).toBe(0)
})

test('over HTTP, killed within a page: only that page twice', async () => {
  const far = await receiver()
  const http = { name: 'siem', type: 'http', url: far.url, batch: { maxEvents: 100 } }
  const { place, ship } = await archived('native', [http])
  const expected = readLines(place.events)
  const ended = await killed(place, 'after:post:5', 'siem')
  expect(ended.signal, ended.stderr).toBe('SIGKILL')
  forgetHolders(place.database)
  const after = await ship('--sink', 'siem')
  expect(after.code, after.stderr).toBe(0)
  expect([...new Set(far.taken)].sort()).toEqual(expected)
  // The page under way was the second one, of 300 events.
  expect(far.taken.length - whole).toBeLessThanOrEqual(300)
  expect(count(after.stdout, /([\d,]+) already there/)).toBeGreaterThanOrEqual(300)
})

test.skipIf(!redisServerAvailable())('over Redis, killed and run again', async () => {
  const { url, keyPrefix } = await useRedis({ appendOnly: true })
  const { place, copy, ship } = await archived('native', [], { state: { redis: { url, keyPrefix } } })
  const ended = await killed(place, 'after:datasync:3', 'copy')
  expect(ended.signal, ended.stderr).toBe('SIGKILL')
  // It waits until nothing was heard of the dead process for 20 s.
  const after = await ship('--sink', 'copy')
  expect(after.code, after.stderr).toBe(0)
  expect(readLines(copy)).toEqual(readLines(place.events))
  const again = await ship('--sink', 'copy')
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringContaining(' 0 events shipped, 1200 already there,'),
  ])
})

/** What a running process does: of days that are done nothing but counts is left. */
async function housekeep(place: Workplace): Promise<void> {
  await inStore(place, async (store) => {
    const apiClock = createApiClock(systemClock)
    apiClock.learn('default', 0, {})
    expect(apiClock.isConfirmed('default')).toBe(true)
    const configured = zones.map((id) => ({ id, name: String(id), account: 'default' }))
    const settings = () => ({ zones: configured, sinks: ['archive', 'copy'], policy })
    await createHousekeeping({ store, apiClock, settings, keepDays: 14 })(new AbortController().signal)
    for (const { stream, archives } of await store.catalogue.checkpoints()) {
      const [first] = await store.ledger.minutes(stream)
      // The archive's own days had no scan that would end them.
      if (first === undefined || stream.sink !== 'copy') continue
      const isKept = (await store.ledger.loadSeen(stream, [first.minute])).size === 1
      expect([stream, isKept]).toEqual([stream, archives !== undefined])
    }
  })
}
