import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkSimulator, startDemo, startRedisService } from '../compose/demo-processes.ts'
import { commandIn } from '../docs/pages.ts'
import { redisServerAvailable } from '../setup/redis.ts'
import { runCommand } from '../setup/run-command.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import { linesBelow, linesIn } from './shipped.ts'
import { readableDays } from './workplace.ts'

describe.skipIf(!redisServerAvailable())('what the containers of docker-compose.yml run', () => {
  describe('Redis', () => {
    const password = `it's "a" $HOME \`pass\\word\`; ü`
    const ask = (port: number, given: string) => {
      const client = new Redis({ host: '127.0.0.1', port, password: given, maxRetriesPerRequest: 0 })
      client.on('error', () => undefined)
      onTestFinished(() => client.disconnect())
      return client
    }

    test('accepts any password from its file, never shows it, and evicts nothing', async () => {
      const secret = join(temporaryFolder(), 'redis-password')
      writeFileSync(secret, `${password}\n`)
      const { port, process, check } = await startRedisService('redis', secret)
      await process.waitForLine(/Ready to accept connections/)
      expect(await check()).toBe(0)
      const client = ask(port, password)
      const settings = await client.config('GET', 'appendonly', 'maxmemory', 'maxmemory-policy', 'save')
      expect(settings).toEqual(
        expect.arrayContaining(['appendonly', 'yes', 'maxmemory', '536870912', 'noeviction', 'save', '']),
      )
      await expect(ask(port, 'another').ping()).rejects.toThrow(/WRONGPASS|NOAUTH/)
      const { stdout } = await runCommand('ps', ['-o', 'args=', '-p', String(process.pid)])
      expect(stdout).toContain('redis-server')
      expect(stdout).not.toContain('pass\\word')
      expect(process.stdout()).not.toContain('pass\\word')
      // Whoever asks with the wrong password finds it unhealthy.
      writeFileSync(secret, 'another')
      expect(await check()).not.toBe(0)
      await process.kill('SIGTERM')
      writeFileSync(secret, password)
      expect(await check()).not.toBe(0)
    })

    test('is copied and restored by the commands of the page', async () => {
      const volume = temporaryFolder()
      const secret = join(volume, 'secret')
      writeFileSync(secret, 'a password')
      const first = await startRedisService('redis', secret, volume)
      await first.process.waitForLine(/Ready to accept connections/)
      const before = ask(first.port, 'a password')
      await before.set('progress', 'as copied')
      const [copy, restore] = ['redis sh', 'sh redis'].map((place) => commandIn('docs/install.md', place))
      const copied = first.run(copy!)
      await before.set('progress', 'later')
      await first.process.kill('SIGTERM')
      first.run(restore!, copied)
      const { port, process } = await startRedisService('redis', secret, volume)
      await process.waitForLine(/Ready to accept connections/)
      const after = ask(port, 'a password')
      expect([await after.get('progress'), await after.dbsize()]).toEqual(['as copied', 1])
    })
  })

  test('the demo ships every event once through two workers', async () => {
    const demo = await startDemo()
    const { simulator, scheduler, worker, otherWorker } = demo.processes
    const past = readableDays().slice(0, 2)
    const events = join(demo.volume, 'events')
    await waitFor(() => linesIn(events, past) >= 4_000, {
      what: () => `the past days: ${scheduler.stderr()}\n${worker.stderr()}\n${otherWorker.stderr()}`,
    })
    expect(await checkSimulator(demo.simulatorUrl)).toBe(0)
    expect(await demo.stop()).toEqual([0, 0, 0, 0])
    expect(await checkSimulator(demo.simulatorUrl)).toBe(1)
    const keys = linesBelow(events).map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    expect(linesIn(events, past)).toBe(4_000)
    expect(simulator.stderr()).toBe('')
  })
})
