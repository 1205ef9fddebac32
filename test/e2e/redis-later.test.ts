import { expect, test } from 'vitest'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { probeAt } from './metrics.ts'
import { compareFiles, exactly, keysOf } from './shipped.ts'
import { readableDays, workplace, zones } from './workplace.ts'

async function withoutRedis() {
  const redis = await startRedis({ appendOnly: true })
  await redis.kill()
  const place = await workplace(
    { days: 20 },
    { state: { redis: { url: redis.url, keyPrefix: redis.keyPrefix } }, server: { port: 0 } },
  )
  const child = place.start(['run'])
  const [, address] = await child.waitForLine(/"event":"ServerListening".*"address":"([^"]+)"/)
  return { redis, place, child, probe: probeAt(address!) }
}

test.skipIf(!redisServerAvailable())(
  'a process that starts before its Redis waits for it, logs that, and ships',
  async () => {
    const { redis, place, child, probe } = await withoutRedis()
    const ready = await probe.get('/readyz')
    expect(ready.status).toBe(503)
    expect(ready.text).toContain(new URL(redis.url).host)
    expect((await probe.get('/healthz')).status).toBe(200)
    expect((await probe.get('/metrics')).status).toBe(200)
    expect(child.stderr().match(/"event":"Warned","about":"state"/g)).toHaveLength(1)

    await redis.restart()
    const days = readableDays()
    const whole = exactly(keysOf(place.simulator, zones, days).length)
    await waitFor(() => compareFiles(place.events, place.simulator, zones, days).lines === whole.lines, {
      what: () => `all events\n${child.stderr()}`,
    })
    await waitFor(async () => (await probe.get('/readyz')).status === 200, {
      what: 'readiness',
    })
    expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(compareFiles(place.events, place.simulator, zones, days)).toEqual(whole)
  },
)

test.skipIf(!redisServerAvailable())('a process that waits for its Redis can be stopped', async () => {
  const { child } = await withoutRedis()
  expect(await child.kill('SIGTERM'), child.stderr()).toEqual({ code: 0, signal: null })
})
