import { Failure } from '../../domain/failure.ts'
import type { Announcements } from './announcements.ts'
import { listOf, textOf } from './answer.ts'
import type { DeadLetters } from './dead-letters.ts'
import { readHeads, type Listed } from './heads.ts'
import type { Holders } from './holders.ts'
import { partsOf, type Keys } from './keys.ts'
import type { Link } from './link.ts'
import type { SinkNames } from './sink-names.ts'
import { held } from './streams.ts'

export interface RenameDeps {
  readonly link: Link
  readonly keys: Keys
  readonly names: SinkNames
  readonly holders: Holders
  readonly letters: DeadLetters
  readonly announcements: Announcements
}

/** How many streams were moved. */
export function createRenameSink(deps: RenameDeps): (from: string, to: string) => Promise<number> {
  const { link, keys, names, holders, letters, announcements } = deps
  const all = [keys.sinks, keys.streams, keys.meta, keys.gaps, keys.pairs, keys.backfilled]

  async function streamsOf(sink: string): Promise<Listed[]> {
    const own: Listed[] = []
    const sinks = await names.all()
    for await (const some of readHeads(link, keys))
      own.push(
        ...some.filter(({ place, head }) => {
          return head !== undefined && sinks.get(partsOf(place.stream).place) === sink
        }),
      )
    return own
  }

  async function refuseTaken(from: string, to: string): Promise<void> {
    const found = listOf(await link.script('rename-sink', all, [from, to, 0, 0])).map(textOf)
    if ((await letters.counts()).some(({ sink }) => sink === to)) found.push('dead letters')
    if (found.length > 0) throw taken(to, found)
  }

  async function refuseHeld(own: readonly Listed[], sink: string): Promise<void> {
    for (const { place, head } of own) {
      if (head?.holder === undefined) continue
      const until = await holders.keptUntil(head.holder)
      const { zone, day } = partsOf(place.stream)
      if (until !== undefined) throw held({ zone, day, sink }, until)
    }
  }

  return async function renameSink(from, to) {
    await announcements.completeAll()
    await refuseTaken(from, to)
    const own = await streamsOf(from)
    await refuseHeld(own, from)
    const fences = own.map(({ head }) => head!.fence).sort()
    // Not sent twice: the second time the new name would be taken, by this very renaming.
    const found = listOf(await link.script('rename-sink', all, [from, to, fences.at(-1) ?? '0', 1], true))
    names.forget()
    if (found.length > 0) throw taken(to, found.map(textOf))
    for (const { place } of await streamsOf(to)) await link.script('rename-stream', [place.record], [to])
    return own.length
  }
}

function taken(to: string, what: readonly string[]): Failure {
  const text = `the sink name ${to} is taken (the store has ${what.join(', ')} of it): choose a name that was never used`
  return new Failure('refuse', 'store_refuses', text)
}
