import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { fencesOf } from '../docs/pages.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { clientOf } from '../state/redis/opening.ts'
import { probeOf } from './metrics.ts'
import { receiver } from './receiver.ts'
import { expectEachOnce, linesIn } from './shipped.ts'
import { readableDays, workplace, zones } from './workplace.ts'
import * as faults from '../simulator/faults.ts'

const password = 'the-right-password'

/** What the docs give to the user `shieldlog`, as arguments of ACL SETUSER. */
function rights(): readonly string[] {
  const page = readFileSync(`${projectFolder}docs/scaling-redis.md`, 'utf8')
  const command = fencesOf(page).find(({ text }) => text.startsWith('ACL SETUSER shieldlog '))!
  const words = command.text.replaceAll('\\\n', ' ').trim().split(/\s+/).slice(3)
  return words.map((word) => (word === '>PASSWORD' ? `>${password}` : word))
}

/** What the server refused to anybody: user, command or key, and where. */
async function denials(admin: Redis): Promise<string[]> {
  const log = (await admin.call('ACL', 'LOG')) as unknown[][]
  return log.map((entry) => {
    const at = (name: string) => String(entry[entry.indexOf(name) + 1])
    return `${at('username')}: ${at('reason')} ${at('object')} (${at('context')})`
  })
}

/** A server that lets in nobody but the user of the notes, and an administrator. */
async function guardedRedis() {
  const redis = await startRedis({ args: ['--appendonly', 'yes'] })
  const first = clientOf(redis.url, { username: 'default', password: '' })
  await first.call('ACL', 'SETUSER', 'admin', 'on', '>admin', '~*', '&*', '+@all')
  await first.call('ACL', 'SETUSER', 'shieldlog', ...rights())
  await first.call('ACL', 'SETUSER', 'default', 'off', 'resetpass')
  const admin = clientOf(redis.url, { username: 'admin', password: 'admin' })
  return { redis, admin, url: redis.url.replace('redis://', `redis://shieldlog:${password}@`) }
}

describe.skipIf(!redisServerAvailable())('a user of Redis with the rights of the docs', () => {
  test('ships through scheduler and worker, and is denied nothing', async () => {
    const { admin, url } = await guardedRedis()
    const place = await workplace({ days: 40, pageSize: 20 }, {}, { maxRequestsPerSecond: 200 })
    const days = readableDays()
    const siem = await receiver()
    const refused = place.simulator.entries(101, days[1])[3]?.logId ?? 'none'
    siem.answer(({ text }) => ({ status: text.includes(refused) ? 400 : 200 }))
    place.configure({
      state: url,
      // With shorter pauses some live stream is always due on a busy machine, and the backfill below waits for it.
      poll: { everySeconds: 5 },
      sinks: [
        { name: 'archive', type: 'file', path: place.events },
        { name: 'siem', type: 'http', preset: 'ndjson', url: siem.url },
      ],
    })
    place.simulator.fail({ fault: faults.throttle({ retryAfter: 1 }) })
    const scheduler = place.start(['run', '--role', 'scheduler'])
    const worker = place.start(['run', '--role', 'worker'])
    const output = () => `${scheduler.stderr()}\n${worker.stderr()}`
    const ready = async () => (await probe.get('/readyz')).status === 200
    const probe = await probeOf(scheduler)
    await waitFor(ready, { what: output })
    await waitFor(() => linesIn(place.events) >= 2 * 3 * 40, { what: () => `all lines: ${output()}` })
    expectEachOnce(place.events, place.simulator, zones, days)
    // What the scheduler tells is as old as its last look at the store.
    await waitFor(async () => (await probe.total('dead_letters')) === 1, { what: output })
    await waitFor(async () => (await probe.metric('queue_jobs')).size === 12, { what: output })

    const commands = [
      ['backfill', '--from', days[1], '--to', days[1], '--watch'],
      ['status', '--json'],
      ['dead-letters', 'list'],
      ['audit', '--zone', '101', '--day', 'yesterday', '--sink', 'archive'],
    ]
    await Promise.all(
      commands.map(async (command) => {
        const { code, stderr } = await place.ended(command)
        expect(code, `${command.join(' ')}: ${stderr}`).toBe(0)
      }),
    )
    expect((await worker.kill('SIGTERM'))?.code, output()).toBe(0)
    expect((await scheduler.kill('SIGTERM'))?.code, output()).toBe(0)
    const renamed = await place.ended(['state', 'rename-sink', 'siem', 'splunk'])
    expect(renamed.code, renamed.stderr).toBe(0)

    expect(output()).not.toMatch(/NOPERM|no permissions|INFO command/)
    expect(await denials(admin)).toEqual([])
    const foreign = (await admin.keys('*')).filter((key) => !key.startsWith('{shieldlog}:'))
    expect(foreign).toEqual([])
  })
})
