import { hash } from 'node:crypto'
import { durableRedis } from '../e2e/crash-world.ts'
import { hostileReceiver } from '../e2e/hostile-receiver.ts'
import { simulated, workplaceAt } from '../e2e/workplace.ts'
import { startCli } from '../setup/processes.ts'

/** About one event in 400 is one that the destination never takes: by its id in `zone/day/id`. */
export function isPoison(key: string): boolean {
  return hash('sha1', key.slice(key.lastIndexOf('/')), 'buffer').readUInt16BE(0) < 65_536 / 400
}

export const zones = [101, 102, 103, 104]

export type World = Awaited<ReturnType<typeof createWorld>>

/** Two shippers over one Redis, an API and a destination that this process plays, and files. */
export async function createWorld() {
  const redis = await durableRedis()
  const receiver = await hostileReceiver(isPoison)
  const simulator = await simulated({
    zones,
    accessKey: null,
    days: 2_000,
    pageSize: 200,
    live: { ratePerSecond: 20 },
  })
  const place = workplaceAt(simulator, {
    api: { baseUrl: simulator.url, accessKey: 'soak', requestTimeoutSeconds: 3 },
    zones,
    poll: { everySeconds: 2 },
    state: { redis: { url: redis.url, keyPrefix: redis.keyPrefix } },
    sinks: [
      { name: 'archive', type: 'file', path: 'events', rotate: { maxBytes: 4_000_000 }, compress: 'gzip' },
      {
        name: 'siem',
        type: 'http',
        preset: 'ndjson',
        url: receiver.url,
        compression: 'gzip',
        timeoutSeconds: 3,
      },
    ],
  })
  const start = () =>
    startCli(['run', '-c', place.configFile], {
      cwd: place.folder,
      // As in the image.
      env: { MALLOC_ARENA_MAX: '1' },
      mustEnd: false,
    })
  const steady = start()
  let victim = start()
  return {
    place,
    redis,
    receiver,
    /** Never killed. */
    steady,
    /** Killed, frozen and stopped. */
    victim: () => victim,
    replaceVictim(): void {
      victim = start()
    },
  }
}
