import type { DeadLetterCount } from '../domain/event/dead-letter-count.ts'
import type { DeadLetter } from '../domain/event/delivery.ts'
import type { Identity } from '../domain/event/event.ts'
import type { Stream } from '../domain/stream.ts'

/** Events that a sink will never accept. A commit adds and removes those of its own stream. */
export interface DeadLetters {
  list(): Promise<DeadLetter[]>
  /** How many there are, by stream and reason. */
  counts(): Promise<DeadLetterCount[]>
  /** Identities of the events in a stream's dead letters, in no order. */
  keys(stream: Stream): Promise<Identity[]>
  /** The dead letters of these keys that still exist, in the order of the keys; callers pass at most 500 keys. */
  read(stream: Stream, keys: readonly Identity[]): Promise<DeadLetter[]>
  remove(deadLetters: readonly Pick<DeadLetter, 'zone' | 'day' | 'sink' | 'id' | 'time'>[]): Promise<number>
}
