import { expect, test } from 'vitest'
import { told } from '../tasks/backfill/backfilling.ts'
import { startProgram } from '../setup/processes.ts'
import { redisAvailable, useRedis } from '../setup/redis.ts'
import { forgetHolders as forgetHoldersIn } from '../setup/stores.ts'
import { archived, command, days, readLines } from './backfill-archive.ts'
import { forgetHolders } from './crash-world.ts'
import { endOf, type Ended, type Workplace } from './workplace.ts'

function killed(place: Workplace, deadline: string, sink: string): Promise<Ended> {
  const args = ['--kill', deadline, '--', ...command, '--sink', sink, '-c', place.configFile]
  return endOf(startProgram('command', args, { cwd: place.folder }))
}

// Each zone and day takes: fence, beginning, its events, release.
test.for([
  ['SQLite', 'after:transaction:3'],
  ['SQLite', 'before:datasync:1'],
  ['SQLite', 'after:datasync:3'],
  ['SQLite', 'before:transaction:12'],
  ['SQLite', 'after:transaction:30'],
  ...(redisAvailable() ? ([['Redis', 'after:datasync:3']] as const) : []),
] as const)('over %s, killed %s, and run again: each event once', async ([store, deadline]) => {
  const redis = store === 'Redis' ? await useRedis({ appendOnly: true }) : undefined
  const state = redis && { state: { redis: { url: redis.url, keyPrefix: redis.keyPrefix } } }
  const { place, copy, ship } = await archived(state)
  const lines = readLines(place.events)
  const ended = await killed(place, deadline, 'copy')
  expect(ended.signal, ended.stderr).toBe('SIGKILL')
  if (redis === undefined) forgetHoldersIn(place.database)
  else await forgetHolders(redis)
  const after = await ship('--sink', 'copy')
  expect(after.code, after.stderr).toBe(0)
  expect(readLines(copy)).toEqual(lines)
  const audit = await told(place, 'audit', '--zone', '101', '--day', days[0], '--sink', 'copy', '--deep')
  expect(audit.code, audit.stdout).toBe(0)
})
