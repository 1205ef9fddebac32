import { connectRedis, type RedisClient } from '../../redis/connection.ts'
import { nameOf } from '../../redis/server-name.ts'
import { within } from '../../domain/within.ts'
import { createConsumer, type Consumer, type ConsumerDeps } from './consumer.ts'
import type { BullmqScheduleDeps, BullmqScheduleOptions } from './options.ts'
import { queuePrefix } from './queue-names.ts'
import { createQueueing, type Queueing } from './queueing.ts'
import { openQueues, type Queues } from './queues.ts'
import { createVoice, type Voice } from './voice.ts'

/** What the parts of one process share: connections, queues, and a way to complain. */
export interface Links {
  readonly options: BullmqScheduleOptions
  readonly deps: BullmqScheduleDeps
  readonly voice: Voice
  /** Its commands fail soon while Redis is away. */
  readonly client: RedisClient
  readonly queues: Queues
  readonly queueing: Queueing
  consume(queue: string, use: Use): Consumer
  close(): Promise<void>
}

export interface Use extends Pick<ConsumerDeps, 'choose' | 'work'> {
  readonly slots: number
  readonly loop: 'tick' | 'worker'
}

const defaultLockMs = 15_000
const patienceMs = 1_000
const closeMs = 300

export function openLinks(options: BullmqScheduleOptions, deps: BullmqScheduleDeps): Links {
  const { connection, keyPrefix, role, lockMs = defaultLockMs } = options
  const { clock } = deps
  const voice = createVoice({ ...deps, server: nameOf(connection) })
  const connect = (manner: 'prompt' | 'patient') =>
    connectRedis(connection, { manner, name: `${keyPrefix}:${role}` }, voice)
  const client = connect('prompt')
  const patient = connect('patient')
  const queues = openQueues(client, keyPrefix, voice)

  async function answers(): Promise<boolean> {
    const pong = client.ping().then(
      () => true,
      () => false,
    )
    const answer = await within(patienceMs, pong, clock)
    return answer !== 'late' && answer.value
  }

  return {
    options,
    deps,
    voice,
    client,
    queues,
    queueing: createQueueing(queues, client, keyPrefix),
    consume(queue, { slots, loop, ...use }) {
      const turned = () => deps.turned(loop)
      return createConsumer(
        { queue, prefix: queuePrefix(keyPrefix), slots, lockMs, stalledCheckMs: lockMs },
        { clock, voice, client: patient, answers, turned, ...use },
      )
    },
    async close() {
      await within(closeMs, queues.close(), clock).catch(voice)
      client.disconnect()
      patient.disconnect()
    },
  }
}
