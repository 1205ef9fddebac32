import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { commandsOf, denials, rightsIn } from '../redis/rights.ts'
import { ownScripts, queueScripts } from '../redis/lua-scripts.ts'
import { own } from '../setup/leftovers.ts'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { probeOf } from './metrics.ts'
import { receiver } from './receiver.ts'
import { compareFiles, exactly } from './shipped.ts'
import { readableDays, workplace, zones } from './workplace.ts'
import * as faults from '../simulator/faults.ts'

const password = 'the-right-password'
const rights = rightsIn('docs/scaling-redis.md', password)

function clientAt(url: string, credentials: { readonly username: string; readonly password: string }): Redis {
  const client = new Redis(url, credentials)
  client.on('error', () => undefined)
  own({ what: 'a client', isLeft: () => true, remove: async () => client.disconnect(), isFault: false })
  return client
}

/** A server that lets in nobody but the user of the notes, and an administrator. */
async function guardedRedis() {
  const redis = await startRedis({ args: ['--appendonly', 'yes'] })
  const first = clientAt(redis.url, { username: 'default', password: '' })
  await first.call('ACL', 'SETUSER', 'admin', 'on', '>admin', '~*', '&*', '+@all')
  await first.call('ACL', 'SETUSER', 'shieldlog', ...rights)
  await first.call('ACL', 'SETUSER', 'default', 'off', 'resetpass')
  const admin = clientAt(redis.url, { username: 'admin', password: 'admin' })
  return { redis, admin, url: redis.url.replace('redis://', `redis://shieldlog:${password}@`) }
}

/** Every command that programs send, and the hashes of the scripts that they run. */
async function watch(admin: Redis) {
  const monitor = await admin.monitor()
  own({ what: 'a monitor', isLeft: () => true, remove: async () => monitor.disconnect(), isFault: false })
  const commands = new Set<string>()
  const hashes = new Set<string>()
  const told = new Set<string>()
  let marks = 0
  monitor.on('monitor', (_time: string, [name = '', first = '']: string[], source: string) => {
    const command = name.toLowerCase()
    if (command === 'echo') told.add(first)
    if (command === 'evalsha') hashes.add(first)
    if (source !== 'lua') commands.add(command === 'client' ? `client|${first.toLowerCase()}` : command)
  })
  /** Resolves when it has been told of all that the server has done until now. */
  const caughtUp = async () => {
    const mark = `mark-${marks++}`
    await admin.echo(mark)
    await waitFor(() => told.has(mark), { what: 'the monitor' })
  }
  return { commands, hashes, caughtUp }
}

/** Scripts of the queue's package that the schedule may run, whether this test makes it do so or not. */
const usedOfQueue =
  'addStandardJob addJobScheduler updateJobScheduler getCounts getRanges moveToActive extendLocks ' +
  'moveStalledJobsToWait moveToFinished moveJobFromActiveToWait'
/** For a database other than 0, for a cluster, for a queue that got stuck; and what no monitor of 6.2 shows. */
const elsewhere = ['select', 'cluster|slots', 'cluster|info', 'ping', 'client|setname']

describe.skipIf(!redisServerAvailable())('a user of Redis with the rights of the docs', () => {
  test('ships through scheduler and worker, and is denied nothing', async () => {
    const { admin, url } = await guardedRedis()
    const seen = await watch(admin)
    const place = await workplace({ days: 40, pageSize: 20 }, {}, { maxRequestsPerSecond: 200 })
    const days = readableDays()
    const siem = await receiver()
    const refused = place.simulator.entries(101, days[1])[3]?.logId ?? 'none'
    siem.answer(({ text }) => ({ status: text.includes(refused) ? 400 : 200 }))
    place.configure({
      state: url,
      // With shorter pauses some live stream is always due on a busy machine, and the backfill below waits for it.
      poll: { everySeconds: 5 },
      server: { port: 0 },
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
    const compared = () => compareFiles(place.events, place.simulator, zones, days)
    await waitFor(() => compared().lines >= 2 * 3 * 40, { what: () => `all lines: ${output()}` })
    expect(compared()).toEqual(exactly(2 * 3 * 40))
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

    await seen.caughtUp()
    expect(output()).not.toMatch(/NOPERM|no permissions|INFO command/)
    expect(await denials(admin)).toEqual([])
    const foreign = (await admin.keys('*')).filter((key) => !key.startsWith('{shieldlog}:'))
    expect(foreign).toEqual([])

    // What this test did not come by is among the rights too, and nothing that nobody needs is.
    const scripts = [...(await queueScripts()), ...ownScripts()]
    const ran = scripts.filter(({ hash }) => seen.hashes.has(hash)).map(({ name }) => name)
    const used = scripts.filter(({ name }) => usedOfQueue.includes(name) || name.endsWith('.lua'))
    expect(ran.filter((name) => !used.some((each) => each.name === name))).toEqual([])
    // On a quick machine a lock is never renewed.
    expect(ran.length).toBeGreaterThan(10)
    // Processes share the limits of an account.
    expect(ran).toContain('account-take.lua')
    const withoutRight = ['auth', 'hello', 'acl', 'keys', 'monitor', 'quit', 'echo']
    const sent = [...seen.commands].filter((command) => !withoutRight.includes(command))
    const needed = new Set([...used.flatMap((script) => script.commands), ...sent])
    const given = commandsOf(rights)
    expect([...needed].filter((command) => !given.includes(command))).toEqual([])
    const unneeded = given.filter((command) => !needed.has(command))
    expect(unneeded.filter((command) => !elsewhere.includes(command))).toEqual([])
  })
})
