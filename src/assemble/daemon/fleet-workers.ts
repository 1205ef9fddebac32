import type { RedisStateConfig } from '../../config/schema/state.ts'
import type { WorkerStatus } from '../../domain/status/status.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ScheduleLock } from '../../ports/schedule.ts'

/** Lists the processes that ship over a Redis, for a process that is not one of them. */
export async function fleetWorkers(state: RedisStateConfig, clock: Clock): Promise<WorkerStatus[]> {
  const [{ connectRedis }, { livingProcesses }] = await Promise.all([
    import('../../redis/connection.ts'),
    import('../../redis/process-record.ts'),
  ])
  const client = connectRedis(state, { manner: 'prompt', name: `${state.keyPrefix}:asking` }, () => undefined)
  try {
    return await livingProcesses(state.keyPrefix, { client, clock })
  } finally {
    client.disconnect()
  }
}

/**
 * For commands that must be alone on a store: granted while no process lives there. It does not stop a process from
 * starting; the fencing tokens of the streams make that harmless.
 */
export function fleetLock(state: RedisStateConfig, clock: Clock): ScheduleLock {
  const holder = async () => (await fleetWorkers(state, clock))[0]?.name
  return {
    async acquire() {
      const other = await holder()
      return other === undefined ? { ok: true } : { ok: false, holder: other }
    },
    holder,
    release: async () => undefined,
  }
}
