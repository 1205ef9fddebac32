import { systemClock } from '../../../src/clock.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import { createKafkaSink } from '../../../src/sinks/kafka/sink.ts'
import { own } from '../../setup/leftovers.ts'

export type KafkaSettings = Parameters<typeof createKafkaSink>[0]

/** A sink in the native format, closed after the test. */
export function kafkaSink(more: Pick<KafkaSettings, 'brokers' | 'topic'> & Partial<KafkaSettings>) {
  const sink = createKafkaSink(
    {
      name: 'bus',
      compression: 'none',
      timestamp: 'event',
      timeoutSeconds: 30,
      batch: { maxEvents: 1000, maxBytes: 900_000 },
      ...more,
    },
    { format: createNativeFormat(), clock: systemClock, random: () => 0 },
  )
  own({ what: 'a sink', isLeft: () => true, remove: () => sink.close(), isFault: false })
  return sink
}
