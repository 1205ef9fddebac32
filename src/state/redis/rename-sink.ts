import type { Clock } from '../../ports/process.ts'
import { held, heardWithinMs } from '../held.ts'
import { nameTaken } from '../name-taken.ts'
import { listOf, numberOf, textOf } from './server/answer.ts'
import { streamOf, type Keys } from './keys.ts'
import type { Link } from './server/link.ts'
import type { Instant } from './streams.ts'

/** Renames a sink; returns how many streams were renamed. */
export function createRenameSink(link: Link, keys: Keys, clock: Clock, instant: Instant) {
  const { meta, streams, holders, deadLetters, gaps, routes, backfills, sinks, formerNames } = keys
  const all = [meta, streams, holders, deadLetters, gaps, routes, backfills, sinks, formerNames]
  return async function renameSink(from: string, to: string, replace = false): Promise<number> {
    const args = [from, to, instant(), heardWithinMs, keys.all, replace ? 1 : 0]
    // Not sent twice: the second time the new name would be taken, by this very call.
    const [word, ...rest] = listOf(await link.script('rename-sink', all, args, true))
    if (textOf(word) === 'taken') throw nameTaken(to, rest.map(textOf))
    if (textOf(word) === 'held') throw held(streamOf(textOf(rest[1])), clock.now() + numberOf(rest[0]))
    return numberOf(rest[0])
  }
}
