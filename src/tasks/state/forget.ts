import { openWork } from '../../assemble/work.ts'
import type { Config } from '../../config/schema.ts'
import { Failure } from '../../domain/failure.ts'
import { counted, sumOf } from '../../domain/text/terminal-text.ts'
import { isConfirmed } from '../../terminal/ask.ts'
import type { Io } from '../../terminal/io.ts'
import { unknownName } from '../options.ts'
import { storeOf, storedIn, namesOf } from './stored.ts'

/** A sink by its name, or a zone by its id. */
type Forgotten = { readonly sink: string } | { readonly zone: number }

/**
 * Drops all that the store has of a sink or a zone that is not configured any more, once a person confirms it. Returns
 * what to print; undefined where nothing was dropped. Throws Failure and UsageError.
 */
export async function forget(
  config: Config,
  of: Forgotten,
  options: { readonly yes?: boolean },
  io: Io,
): Promise<string | undefined> {
  const [what, name] = 'sink' in of ? ['sink', of.sink] : ['zone', String(of.zone)]
  await using work = await openWork(config, { store: 'existing', zones: 'stored' }, io.signal)
  const store = storeOf(work, 'forget')
  const { sinks, zones } = work.config
  if ('sink' in of ? sinks.some((each) => each.name === of.sink) : zones.some(({ id }) => id === of.zone))
    throw new Failure(
      'refuse',
      'rejected',
      `${what} ${name} is configured: remove it from the configuration, and reload or restart what runs, first`,
    )
  const isOf = (each: { readonly zone: number; readonly sink: string }) =>
    'sink' in of ? each.sink === of.sink : each.zone === of.zone
  const { streams, gaps, deadLetters, all } = await storedIn(store)
  if (!all.some(isOf)) {
    const names = namesOf(all.map(({ sink, zone }) => ('sink' in of ? sink : zone)))
    throw unknownName({ option: what, name, what: 'is not in the state', names })
  }
  const counts = [
    counted(streams.filter(isOf).length, 'stream'),
    counted(gaps.filter(isOf).length, 'gap'),
    counted(sumOf(deadLetters.filter(isOf), 'count'), 'dead letter'),
  ].join(', ')
  const would = `forget ${what} ${name}: ${counts}`
  const question = `${would}? What it has received stays there; if you configure it again, shieldlog ships all readable days to it.`
  if (!(await isConfirmed({ would, question }, options, io))) {
    io.stderr.write('nothing was forgotten\n')
    return undefined
  }
  await store.upkeep.forget(of)
  return `forgot ${what} ${name}: ${counts}\n`
}
