// One process of a fleet: a schedule of the given role over the streams of a world in Redis.
//   node test/schedule/bullmq/fleet-process.ts '{"url": …, "keyPrefix": …, "role": "worker", …}'
import { systemClock } from '../../../src/clock.ts'
import { isFailure, messageOf } from '../../../src/domain/failure.ts'
import type { Role } from '../../../src/redis/process-record.ts'
import { BullmqSchedule } from '../../../src/schedule/bullmq/schedule.ts'
import { connectRedis } from '../../../src/redis/connection.ts'
import { serversAt } from '../../redis/servers.ts'
import { FleetWorld, type Behaviour } from './fleet-world.ts'

export interface FleetOptions extends Behaviour {
  readonly url: string
  readonly keyPrefix: string
  readonly role: Role
  readonly streams: number
  readonly backfillStreams: number
  readonly tickMs: number
  readonly lockMs?: number
}

const options = JSON.parse(process.argv[2] ?? '{}') as FleetOptions
const connection = serversAt(options.url)
const client = connectRedis(connection, { manner: 'patient', name: 'world' }, () => undefined)
const world = new FleetWorld(client, options.keyPrefix)
const say = (text: string) => process.stdout.write(`${text}\n`)

const schedule = new BullmqSchedule(
  { ...options, connection, sinks: ['archive'] },
  {
    clock: systemClock,
    telemetry: {
      emit(internalEvent) {
        const error = 'error' in internalEvent ? internalEvent.error : undefined
        const code = isFailure(error) ? error.code : 'bug'
        say(
          `${internalEvent.name} ${error === undefined ? JSON.stringify(internalEvent) : `${code} ${messageOf(error)}`}`,
        )
      },
    },
    plan: () => world.plan(),
    planned: (stream, priority) => world.planned(stream, priority),
    pump: (planned, signal) => world.pump(planned, signal, options),
    async fail({ stream, priority }, failure) {
      await world.add(priority, [stream.zone], Date.now() + options.restMs)
      say(`failed ${stream.zone} ${failure.code}`)
    },
    now: () => Date.now(),
    heartbeat: async () => undefined,
    housekeep: async () => true,
    removedSinks: async () => [],
    reconcile: async () => undefined,
    turned: () => undefined,
  },
)
process.once('SIGTERM', () => {
  void schedule.stop().then(() => process.exit(0))
})
await schedule.start()
say('started')
