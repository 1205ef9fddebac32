import type { Command } from 'commander'
import type { DeadLetterCount } from '../assemble/dead-letters.ts'
import type { Config } from '../config/schema.ts'
import { collectNames, dayArgument } from './arguments.ts'
import { unknown } from './selection.ts'

/** Which dead letters a command is about; all where nothing is named. */
export interface LetterChoice {
  readonly sink?: string[]
  readonly zone?: string[]
  readonly day?: string
}

/** The options that choose letters. */
export function withLetterChoice(command: Command): Command {
  return command
    .option('--sink <sink>', 'only of this sink; repeatable, takes comma lists', collectNames)
    .option('--zone <zone>', 'only of this zone: id or name; repeatable, takes comma lists', collectNames)
    .option('--day <day>', 'only of this day: YYYY-MM-DD in UTC, today or yesterday', dayArgument)
}

/**
 * What is chosen of all that there is. A sink or zone that left the configuration may have letters still. Throws
 * UsageFault for one that is neither configured nor has any.
 */
export function chosenOf(
  config: Config,
  all: readonly DeadLetterCount[],
  { sink, zone, day }: LetterChoice,
): DeadLetterCount[] {
  const zones = config.accounts.flatMap((account) => account.zones)
  const sinks = new Set([...config.sinks.map(({ name }) => name), ...all.map((each) => each.sink)])
  for (const name of sink ?? [])
    if (!sinks.has(name)) throw unknown('--sink', name, 'is not known', [...sinks], [...sinks])
  const ids = zone?.flatMap((name) => {
    const known = zones.filter((each) => each.name === name || String(each.id) === name).map(({ id }) => id)
    const kept = all.filter((each) => String(each.zone) === name).map((each) => each.zone)
    const found = [...known, ...kept]
    if (found.length > 0) return found
    const names = [...zones.map(({ id }) => String(id)), ...all.map((each) => String(each.zone))]
    throw unknown('--zone', name, 'is not known', [...new Set(names)], [...new Set(names)])
  })
  return all.filter(
    (each) =>
      (sink === undefined || sink.includes(each.sink)) &&
      (ids === undefined || ids.includes(each.zone)) &&
      (day === undefined || day === each.day),
  )
}

/** `siem: 3 refused, 1 too_large`, a line for each sink. */
export function countLines(counts: readonly Pick<DeadLetterCount, 'sink' | 'reason' | 'count'>[]): string[] {
  return [...Map.groupBy(counts, ({ sink }) => sink)].map(([sink, own]) => {
    const reasons = Map.groupBy(own, ({ reason }) => reason)
    return `${sink}: ${[...reasons].map(([reason, some]) => `${totalOf(some)} ${reason}`).join(', ')}`
  })
}

export function totalOf(counts: readonly { readonly count: number }[]): number {
  let total = 0
  for (const { count } of counts) total += count
  return total
}

/** `1 dead letter`, `12 dead letters`. */
export function lettersText(count: number): string {
  return `${count} dead ${count === 1 ? 'letter' : 'letters'}`
}
