import { Option, type Command } from 'commander'
import { groupsOf, groupsOfCounts, type DeadLetterGroup } from '../../assemble/dead-letters.ts'
import { openWork, type Work } from '../../assemble/work.ts'
import type { Needs } from '../../config/resolve.ts'
import type { Config } from '../../config/schema.ts'
import type { DeadLetterCount } from '../../domain/event/delivery.ts'
import { refusalReasons, type DeadLetter, type RefusalReason } from '../../domain/event/delivery.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { atLeastOne, collectNames, dayArgument, storedChoice } from '../options.ts'
import { exitCodes, type Io } from '../command.ts'
import type { Registration } from '../command.ts'
import { commandLine } from '../program-name.ts'

/** Selects the dead letters of a command; all of them without options. */
export interface DeadLetterChoice {
  readonly sink?: string[]
  readonly zone?: string[]
  readonly day?: string
  readonly id?: string[]
  readonly reason?: RefusalReason
  readonly limit?: number
  readonly json?: boolean
}

/** The existing store: there are no dead letters where there is none, and none is made. */
export const deadLetterNeeds = { store: 'existing', zones: 'stored' } as const

/** What a command that changes dead letters works with. */
export interface DeadLetterWork<Options> {
  readonly work: Work
  readonly chosen: readonly DeadLetterGroup[]
  readonly options: Options
  readonly io: Io
}

/** Runs a command on the dead letters that its options select; `change` returns the exit code. */
export function workOnDeadLetters<Options extends DeadLetterChoice>(
  command: Command,
  { io, exit, load }: Registration,
  needs: Needs,
  change: (on: DeadLetterWork<Options>) => Promise<number>,
): void {
  withDeadLetterChoice(command)
    .option('--json', 'as JSON')
    .action(async (options: Options, parsed: Command) => {
      await using work = await openWork(load(parsed, needs).config, deadLetterNeeds, io.signal)
      const chosen = await groupsChosen(work, options)
      const found = chosen.flatMap(({ keys }) => keys)
      const areFound = areIdsFound(found, options, io)
      const code = await change({ work, chosen, options, io })
      exit(areFound || code !== exitCodes.done ? code : exitCodes.failed)
    })
}

/** Counts name neither events nor their order: a selection by these reads the dead letters themselves. */
async function groupsChosen({ config, store }: Work, options: DeadLetterChoice): Promise<DeadLetterGroup[]> {
  const { id, reason, limit } = options
  if (id === undefined && reason === undefined && limit === undefined)
    return groupsOfCounts(chosenOf(config, await store.deadLetters.counts(), options), store)
  return groupsOf(chosenOf(config, await store.deadLetters.list(), options))
}

/** Whether each id of `--id` has a dead letter; names the others on stderr. */
export function areIdsFound(
  found: readonly { readonly id: string }[],
  { id: asked = [], limit = Infinity }: DeadLetterChoice,
  { stderr }: Pick<Io, 'stderr'>,
): boolean {
  // A limit that is reached may have left them out.
  const unknown = found.length < limit ? asked.filter((id) => !found.some((each) => each.id === id)) : []
  for (const id of unknown)
    stderr.write(
      `no dead letter of event ${printable(id, 200)} matches; to see them: ${commandLine('dead-letters list')}\n`,
    )
  return unknown.length === 0
}

/** Adds the options that select dead letters. */
export function withDeadLetterChoice(command: Command): Command {
  return command
    .option('--id <id>', 'only this event id; repeatable', collectIds)
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
    .option('--day <day>', 'only this day: YYYY-MM-DD in UTC, today or yesterday', dayArgument)
    .addOption(new Option('--reason <reason>', 'only this reason').choices(refusalReasons))
    .option('--limit <number>', 'at most this number, the oldest first', atLeastOne)
}

/** An id may hold a comma. */
function collectIds(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** A dead letter, or the count of some. */
interface Selectable {
  readonly zone: number
  readonly day: string
  readonly sink: string
  readonly reason: RefusalReason
  readonly id?: string
}

/** Applies the selection. Throws UsageError for a name that is not configured and has no dead letters. */
export function chosenOf<DeadLetters extends Selectable>(
  config: Config,
  all: readonly DeadLetters[],
  { sink, zone, day, id, reason, limit }: DeadLetterChoice,
): DeadLetters[] {
  const chosen = storedChoice(config, all, { sink, zone, day }).filter(
    (each) =>
      (id === undefined || (each.id !== undefined && id.includes(each.id))) &&
      (reason === undefined || reason === each.reason),
  )
  return chosen.slice(0, limit)
}

/** Counts by sink and reason. */
export function countsOf(deadLetters: readonly Pick<DeadLetter, 'sink' | 'reason'>[]) {
  return [...Map.groupBy(deadLetters, ({ sink }) => sink)].flatMap(([sink, own]) =>
    [...Map.groupBy(own, ({ reason }) => reason)].map(([reason, some]) => ({
      sink,
      reason,
      count: some.length,
    })),
  )
}

/** `siem: 3 refused, 1 too_large`, one line per sink. */
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
