import type { Config } from '../config/schema.ts'
import { dayOf, firstReadable, type Day } from '../domain/day.ts'
import type { ForeignParts } from '../domain/problem.ts'
import type { Clock } from '../ports/process.ts'
import { foreignDays } from '../sinks/file/stored-days.ts'

/**
 * File sinks that have parts which were written under another state, of days that are shipped under this one: the state was
 * lost, emptied or replaced. What cannot be looked at is told by the sink itself. Never throws.
 */
export async function foreignParts(
  { sinks, poll }: Pick<Config, 'sinks' | 'poll'>,
  storeId: string,
  clock: Pick<Clock, 'now'>,
): Promise<ForeignParts[]> {
  const first = firstReadable(dayOf(clock.now()), poll.readableDays)
  const each = sinks.map(async (sink) => {
    if (sink.type !== 'file') return []
    const all = await foreignDays(sink.path, storeId).catch((): Day[] => [])
    const days = all.filter((day) => day >= first)
    return days.length === 0 ? [] : [{ sink: sink.name, path: sink.path, days }]
  })
  return (await Promise.all(each)).flat()
}

/** Sinks whose destination does not show under which state it was shipped what it has. */
export function blindSinks({ sinks }: Pick<Config, 'sinks'>): string[] {
  return sinks.filter(({ type }) => type !== 'file' && type !== 'stdout').map(({ name }) => name)
}
