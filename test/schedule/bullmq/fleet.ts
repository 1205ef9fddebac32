import { startProgram, type TestProcess } from '../../setup/processes.ts'
import type { TestRedis } from '../../setup/redis.ts'
import { connected } from '../../redis/connected.ts'
import type { FleetOptions } from './fleet-process.ts'
import { FleetWorld } from './fleet-world.ts'

export interface Fleet {
  readonly world: FleetWorld
  /** Starts one more process; resolves when its schedule has started. */
  start(changes?: Partial<FleetOptions>): Promise<TestProcess>
}

export function fleetAt({ url, keyPrefix }: TestRedis, behaviour: Partial<FleetOptions> = {}): Fleet {
  const options: FleetOptions = {
    url,
    keyPrefix,
    role: 'worker',
    streams: 4,
    backfillStreams: 2,
    tickMs: 300,
    pages: 3,
    pageMs: 30,
    restMs: 200,
    hanging: [],
    deadly: [],
    ...behaviour,
  }
  return {
    world: new FleetWorld(connected(url, 'patient'), keyPrefix),
    async start(changes = {}) {
      const args = [JSON.stringify({ ...options, ...changes })]
      const child = startProgram('fleetProcess', args, { mustEnd: false })
      await child.waitForLine(/^started$/)
      return child
    },
  }
}
