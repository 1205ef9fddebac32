import type { DeadLetterCount } from '../domain/event/dead-letter-count.ts'
import type { DeadLetter } from '../domain/event/delivery.ts'
import type { Identity } from '../domain/event/event.ts'
import type { Stream } from '../domain/stream.ts'

/** Events that a sink will never take. A commit adds and removes those of its own stream. */
export interface DeadLetters {
  list(sink?: string): Promise<DeadLetter[]>
  /** How many there are, by stream and reason. */
  counts(): Promise<DeadLetterCount[]>
  /** Whose dead letters a stream has, in no order. */
  keys(stream: Stream): Promise<Identity[]>
  /** Those of a stream's dead letters that are still there, in the order of the keys; at most 500 are asked for. */
  read(stream: Stream, keys: readonly Identity[]): Promise<DeadLetter[]>
  remove(deadLetters: readonly Pick<DeadLetter, 'zone' | 'day' | 'sink' | 'id' | 'time'>[]): Promise<number>
}
