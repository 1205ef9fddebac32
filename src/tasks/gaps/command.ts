import type { Command } from 'commander'
import type { Work } from '../../assemble/work.ts'
import { systemClock } from '../../clock.ts'
import { gapReasonTexts, isOpenGap, type Gap } from '../../domain/stream.ts'
import { gapStatus } from '../../status/fleet.ts'
import { zoneLabel } from '../../status/problems.ts'
import { iso } from '../../domain/text/time.ts'
import { printable, wrapPlain, countOf, firstOf } from '../../domain/text/terminal-text.ts'
import { collectNames, dayArgument, dayForms, storedChoice, type StoredChoice } from '../options.ts'
import { exitCodes, type Registration } from '../command.ts'
import { commandLine, example, quoted } from '../../terminal/program-name.ts'
import type { Io } from '../../terminal/io.ts'
import { jsonResult, paintFor, table, type Paint, type Column } from '../../terminal/text.ts'
import { isConfirmed } from '../../terminal/ask.ts'

interface Options extends StoredChoice {
  readonly json?: boolean
  readonly yes?: boolean
}

const help = `
Asks for confirmation; without a terminal, --yes is required. An acknowledged gap stays in the list, in
audit and on the status page. It no longer makes status exit with 1, and no longer counts in the metric
shieldlog_gaps, which ends the alert.
`

/** There are no gaps where there is no store, and none is made. */
const needs = { store: 'existing', zones: 'stored' } as const

export function register({ command: gaps, io, exit, open }: Registration): void {
  gaps.addHelpText('after', example('gaps list', 'gaps acknowledge --zone shop'))
  withChoice(gaps.command('list'))
    .description('list lost days, with their time span, reason and acknowledgement')
    .addHelpText('after', example('gaps list --sink siem'))
    .action(async (options: Options, command: Command) => {
      await using work = await open(command, 'state', needs)
      // The names of the configuration where it has them.
      const names = new Map(work.config.zones.map(({ id, name }) => [id, name]))
      const chosen = storedChoice(work.config, await work.store.catalogue.gaps(), options)
      const named = chosen.map((gap) => ({ ...gap, name: names.get(gap.zone) ?? '' }))
      io.stdout.write(options.json === true ? gapsJson(named) : listText(named, paintFor(io.stdout)))
    })
  withChoice(gaps.command('acknowledge'))
    .description('end the alarm about lost days that a person knows of')
    .option('--yes', 'do not ask')
    .addHelpText('after', `${help}${example('gaps acknowledge --zone shop --day 2026-11-20')}`)
    .action(async (options: Options, command: Command) => {
      await using work = await open(command, 'state', needs)
      exit(exitCodeOf(await acknowledge(work, options, io)))
    })
}

function withChoice(command: Command): Command {
  return command
    .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--day <day>', `only this day: ${dayForms}`, dayArgument)
    .option('--json', 'as JSON')
}

const mostNamed = 5

/** `isDone`: false where a person did not confirm it. */
function exitCodeOf(isDone: boolean): number {
  return isDone ? exitCodes.done : exitCodes.failed
}

async function acknowledge({ config, store }: Work, options: Options, io: Io): Promise<boolean> {
  const { catalogue } = store
  const chosen = storedChoice(config, await catalogue.gaps(), options).filter(isOpenGap)
  const names = chosen.map(({ zone, sink, day }) => `${zone} → ${sink} ${day}`)
  const would = `acknowledge ${countOf(chosen.length, 'gap')} (${firstOf(names, mostNamed)})`
  const question = `${would}? They no longer raise an alarm.`
  if (chosen.length > 0 && !(await isConfirmed({ would, question }, options, io))) {
    io.stderr.write('nothing was acknowledged\n')
    return false
  }
  const nowMs = Math.floor(systemClock.now())
  const acknowledged = chosen.length === 0 ? 0 : await catalogue.acknowledgeGaps(chosen, nowMs)
  const text = chosen.length === 0 ? 'no gaps to acknowledge' : `acknowledged ${countOf(acknowledged, 'gap')}`
  io.stdout.write(options.json === true ? jsonResult({ acknowledged }) : `${text}\n`)
  return true
}

interface NamedGap extends Gap {
  /** Of the zone; empty where it is not known. */
  readonly name: string
}

function gapsJson(gaps: readonly NamedGap[]): string {
  return jsonResult({
    gaps: gaps.map((gap) => ({ ...gap, ...gapStatus(gap) })),
  })
}

function listText(gaps: readonly NamedGap[], paint: Paint): string {
  if (gaps.length === 0) return 'no gaps: no events were lost\n'
  const dayAt = (atMs: number) => iso(atMs).slice(0, 10)
  // `24:00` for the end of a day.
  const timeOn = (day: string, atMs: number) => (dayAt(atMs) === day ? iso(atMs).slice(11, 16) : '24:00')
  const columns: readonly Column<NamedGap>[] = [
    ['zone', zoneLabel, { least: 8 }],
    ['sink', ({ sink }) => printable(sink), { least: 8 }],
    ['day', ({ day }) => day],
    ['lost, UTC', ({ day, from, to }) => `${timeOn(day, from)}-${timeOn(day, to)}`],
    ['reason', ({ reason }) => reason, { spare: 1 }],
    ['recorded', ({ recordedAt }) => dayAt(recordedAt), { spare: 0 }],
    [
      'acknowledged',
      ({ acknowledgedAt: at, readAt }) =>
        readAt !== undefined ? `read ${dayAt(readAt)}` : at === undefined ? 'no' : dayAt(at),
    ],
  ]
  const lost = gaps.filter(({ readAt }) => readAt === undefined)
  const reasons = new Set(lost.map(({ reason }) => reason))
  const open = gaps.filter(isOpenGap).length
  // A sink ships them itself: what it has delivered already is skipped.
  const copies = gaps.flatMap(({ files = [], zone, sink, day }) =>
    files.map((file) =>
      commandLine(
        `backfill --source ${quoted(file)} --zone ${zone} --sink ${quoted(sink)} --from ${day} --to ${day}`,
      ),
    ),
  )
  const texts = [
    ...Array.from(reasons, (reason) => `${reason}: ${gapReasonTexts[reason]}.`),
    lost.length > 0 &&
      `The API no longer lists these events. If a file sink has them: ${commandLine('backfill --source')}`,
    lost.length < gaps.length &&
      'read: the day was read whole since. Where it was older than poll.readableDays, the API may have listed less than it had.',
    open > 0 && `To end the alarm about ${countOf(open, 'gap')}: ${commandLine('gaps acknowledge')}`,
    copies.length > 0 &&
      'Lines that were never committed were cut off files of such a day. Copies are kept for two weeks; these commands ship them:',
  ]
  const below = texts.flatMap((text) => (text === false ? [] : wrapPlain(text, paint.width)))
  // Commands stay on one line each, to be copied.
  return `${[...table(gaps, columns, paint), '', ...below, ...copies].join('\n')}\n`
}
