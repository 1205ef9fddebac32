import { Option, type Command } from 'commander'
import { changeDeadLetters, deadLetterReader } from '../assemble/dead-letters.ts'
import {
  dropAll,
  groupsOf,
  groupsOfCounts,
  replayDeadLetters,
  type DeadLetterGroup,
  type SinkReplay,
} from '../maintenance/dead-letters/by-sink.ts'
import { openWork, type Work } from '../assemble/work.ts'
import { systemClock } from '../clock.ts'
import type { Needs } from '../config/needs.ts'
import type { Config } from '../config/schema.ts'
import {
  refusalReasons,
  type DeadLetter,
  type DeadLetterCount,
  type RefusalReason,
} from '../domain/event/delivery.ts'
import { inertJson } from '../domain/text/json-text.ts'
import { cut, printable, wrap } from '../domain/text/terminal-text.ts'
import { iso, secondText } from '../domain/text/time.ts'
import { exitCodes, type Io, type Registration } from './command.ts'
import { atLeastOne, collectNames, dayArgument, storedChoice } from './options.ts'
import { commandLine, example } from './program-name.ts'
import { isConfirmed } from './terminal/ask.ts'
import { tableLines } from './terminal/table.ts'
import { paintFor, type Paint, counted, jsonResult, sumOf } from './terminal/text.ts'

export function register(registration: Registration): void {
  const { command: deadLetters } = registration
  deadLetters.addHelpText('after', example('dead-letters list'))
  const verb = (name: string, description: string, after: string) =>
    withChoice(deadLetters.command(name)).description(description).addHelpText('after', after)

  const list = verb(
    'list',
    'list refused events with the reason, the oldest first',
    example('dead-letters list --sink siem'),
  )
  readsChosen(list.option('--json', 'as JSON'), registration, (chosen, { json }, { stdout }) =>
    json === true ? listJson(chosen) : listText(chosen, paintFor(stdout).width),
  )
  const show = verb(
    'show',
    'print refused events with the answer of the destination',
    example('dead-letters show --sink siem --limit 1'),
  )
  readsChosen(show.option('--json', 'as JSON'), registration, (chosen, { json }, { stdout }, config) => {
    const shown = shownOf(chosen, config)
    return json === true ? jsonResult({ deadLetters: shown }) : showText(shown, paintFor(stdout))
  })
  const exported = verb(
    'export',
    'print refused events, one JSON object a line',
    example('dead-letters export --sink siem --reason refused'),
  )
  readsChosen(exported, registration, (chosen, _, __, config) =>
    shownOf(chosen, config)
      .map((each) => `${inertJson(JSON.stringify(each))}\n`)
      .join(''),
  )
  changesChosen(
    verb(
      'replay',
      'deliver dead letters to their sinks again, and remove those that are accepted',
      `
Fix the destination or the configuration first. What the sink refuses again stays, with the new
reason (exit code 1). shieldlog sends the kept event in the format that is configured now, with the
redaction of then and of now. You can stop the command and start it again at any time, also while a
run is active on the same state.
${example('dead-letters replay --sink siem')}`,
    ),
    registration,
    'sinks',
    replay,
  )
  changesChosen(
    verb(
      'drop',
      'remove dead letters without delivering them',
      `
Asks for confirmation; without a terminal, --yes is required. The store keeps their ids: no run ships
them again, and audit counts them as dropped, not as missing. It keeps only their number: audit --deep
--repair of a day that lacks more lines than that writes all of them again, the dropped ones too.
${example('dead-letters drop --sink siem')}`,
    ).option('--yes', 'do not ask'),
    registration,
    'state',
    drop,
  )
}

/** The existing store: there are no dead letters where there is none, and none is made. */
const ofStore = { store: 'existing', zones: 'stored' } as const

/** The selected dead letters; all of them without options. */
interface Choice {
  readonly sink?: string[]
  readonly zone?: string[]
  readonly day?: string
  readonly id?: string[]
  readonly reason?: RefusalReason
  readonly limit?: number
  readonly json?: boolean
  readonly yes?: boolean
}

/** Adds the options that select dead letters. */
function withChoice(command: Command): Command {
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

/** A command that prints what `textOf` makes of the selected dead letters. */
function readsChosen(
  command: Command,
  { io, exit, load }: Registration,
  textOf: (chosen: readonly DeadLetter[], options: Choice, io: Io, config: Config) => string,
): void {
  command.action(async (options: Choice, parsed: Command) => {
    await using work = await openWork(load(parsed, 'state').config, ofStore, io.signal)
    const { config, store } = work
    const chosen = chosenOf(config, await store.deadLetters.list(), options)
    if (!areIdsFound(chosen, options, io)) exit(exitCodes.failed)
    io.stdout.write(textOf(chosen, options, io, config))
  })
}

/** What a command that changes dead letters works with. */
interface Change {
  readonly work: Work
  readonly chosen: readonly DeadLetterGroup[]
  readonly options: Choice
  readonly io: Io
}

/** A command that works on the selected dead letters; `change` returns the exit code. */
function changesChosen(
  command: Command,
  { io, exit, load }: Registration,
  needs: Needs,
  change: (on: Change) => Promise<number>,
): void {
  command.option('--json', 'as JSON').action(async (options: Choice, parsed: Command) => {
    await using work = await openWork(load(parsed, needs).config, ofStore, io.signal)
    const chosen = await groupsChosen(work, options)
    const found = chosen.flatMap(({ keys }) => keys)
    const areFound = areIdsFound(found, options, io)
    const code = await change({ work, chosen, options, io })
    exit(areFound || code !== exitCodes.done ? code : exitCodes.failed)
  })
}

/** Counts name neither events nor their order: a selection by these reads the dead letters themselves. */
async function groupsChosen({ config, store }: Work, options: Choice): Promise<DeadLetterGroup[]> {
  const { id, reason, limit } = options
  if (id === undefined && reason === undefined && limit === undefined)
    return groupsOfCounts(chosenOf(config, await store.deadLetters.counts(), options), store)
  return groupsOf(chosenOf(config, await store.deadLetters.list(), options))
}

/** Whether each id of `--id` has a dead letter; names the others on stderr. */
function areIdsFound(
  found: readonly { readonly id: string }[],
  { id: asked = [], limit = Infinity }: Choice,
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

/** A dead letter, or the count of some. */
interface Selectable {
  readonly zone: number
  readonly day: string
  readonly sink: string
  readonly reason: RefusalReason
  readonly id?: string
}

/** Applies the selection. Throws UsageError for a name that is not configured and has no dead letters. */
function chosenOf<DeadLetters extends Selectable>(
  config: Config,
  all: readonly DeadLetters[],
  { sink, zone, day, id, reason, limit }: Choice,
): DeadLetters[] {
  const chosen = storedChoice(config, all, { sink, zone, day }).filter(
    (each) =>
      (id === undefined || (each.id !== undefined && id.includes(each.id))) &&
      (reason === undefined || reason === each.reason),
  )
  return chosen.slice(0, limit)
}

/** Counts by sink and reason. */
function countsOf(deadLetters: readonly Pick<DeadLetter, 'sink' | 'reason'>[]) {
  return [...Map.groupBy(deadLetters, ({ sink }) => sink)].flatMap(([sink, own]) =>
    [...Map.groupBy(own, ({ reason }) => reason)].map(([reason, some]) => ({
      sink,
      reason,
      count: some.length,
    })),
  )
}

/** `siem: 3 refused, 1 too_large`, one line per sink. */
function countLines(counts: readonly Pick<DeadLetterCount, 'sink' | 'reason' | 'count'>[]): string[] {
  return [...Map.groupBy(counts, ({ sink }) => sink)].map(([sink, own]) => {
    const reasons = Map.groupBy(own, ({ reason }) => reason)
    return `${sink}: ${[...reasons].map(([reason, some]) => `${sumOf(some, 'count')} ${reason}`).join(', ')}`
  })
}

function listJson(deadLetters: readonly DeadLetter[]): string {
  return jsonResult({
    deadLetters: deadLetters.map(({ event: _event, at, ...deadLetter }) => ({
      ...deadLetter,
      at: iso(at),
    })),
    counts: countsOf(deadLetters),
  })
}

/** On a narrower terminal, event and answer have a line below their row. */
const besideFrom = 130
const mostAnswer = 300

function listText(deadLetters: readonly DeadLetter[], width: number): string {
  if (deadLetters.length === 0) return 'no dead letters\n'
  const isBeside = width >= besideFrom
  const rows = deadLetters.map(({ at, zone, day, sink, reason, id, answer }) => [
    secondText(iso(at)),
    String(zone),
    printable(day),
    printable(sink),
    reason,
    ...(isBeside ? [printable(id, 40), printable(answer, mostAnswer)] : []),
  ])
  const header = ['refused at', 'zone', 'day', 'sink', 'reason', ...(isBeside ? ['event', 'answer'] : [])]
  const counts = countLines(countsOf(deadLetters)).map((line) => printable(line))
  const [first = '', ...lines] = tableLines(header, rows, { width })
  const table = lines.flatMap((line, index) => {
    const { id, answer } = deadLetters[index]!
    return isBeside
      ? [line]
      : [line, cut(`    ${printable(id, 40)}  ${printable(answer, mostAnswer)}`, width)]
  })
  return `${[first, ...table, '', ...counts].join('\n')}\n`
}

/** A dead letter with its event in native form; `event` is null where it cannot be read. */
interface Shown extends Omit<DeadLetter, 'at' | 'event'> {
  readonly at: string
  readonly event: unknown
  readonly problem?: string
}

function shownOf(chosen: readonly DeadLetter[], config: Config): Shown[] {
  const read = deadLetterReader(config)
  return chosen.map((deadLetter) => ({
    ...deadLetter,
    at: iso(deadLetter.at),
    event: null,
    ...read(deadLetter),
  }))
}

function showText(shown: readonly Shown[], paint: Paint): string {
  if (shown.length === 0) return 'no dead letters\n'
  return shown.map((each) => `${linesOf(each, paint).join('\n')}\n`).join('\n')
}

function linesOf({ id, zone, day, sink, reason, at, answer, event, problem }: Shown, paint: Paint): string[] {
  const title = `${printable(sink)} refused event ${printable(id, 200)}`
  return [
    paint.bad(title),
    `  when    ${secondText(at)}, ${reason}`,
    `  stream  zone ${zone}, ${printable(day)}`,
    ...wrap(`answer  ${printable(answer)}`, '  ', paint.width),
    ...(problem === undefined
      ? inertJson(JSON.stringify(event, null, 2))
          .split('\n')
          .map((line) => `  ${line}`)
      : wrap(`event   cannot be read: ${printable(problem)}`, '  ', paint.width)),
  ]
}

async function drop(on: Change): Promise<number> {
  const { work, chosen, options, io } = on
  if (chosen.length > 0 && !(await isAgreed(on))) {
    io.stderr.write('nothing was dropped\n')
    return exitCodes.failed
  }
  const bySink = await changeDeadLetters(work, { delivers: false }, (over) =>
    dropAll(chosen, over, io.signal),
  )
  const dropped = bySink.flatMap(({ sink, counts }) =>
    [...counts].map(([reason, count]) => ({ sink, reason, count })),
  )
  const lines = countLines(dropped).map((line) => `dropped of ${printable(line)}\n`)
  const text = lines.length === 0 ? 'no dead letters\n' : lines.join('')
  io.stdout.write(options.json === true ? jsonResult({ dropped }) : text)
  return exitCodes.done
}

function isAgreed({ chosen, options, io }: Change): Promise<boolean> {
  const counts = chosen.flatMap((group) => group.counts)
  const lines = countLines(counts).map((line) => printable(line))
  const would = `drop ${counted(sumOf(counts, 'count'), 'dead letter')} (${lines.join('; ')})`
  return isConfirmed({ would, question: `${would}? They cannot be replayed afterwards.` }, options, io)
}

const tellEveryMs = 5_000

async function replay({ work, chosen, options, io }: Change): Promise<number> {
  const total = sumOf(
    chosen.flatMap(({ counts }) => counts),
    'count',
  )
  if (total > 0) io.stderr.write(`replaying ${counted(total, 'dead letter')}\n`)
  let [done, toldAtMs] = [0, systemClock.monotonic()]
  const progressed = (tried: number) => {
    done += tried
    if (systemClock.monotonic() - toldAtMs < tellEveryMs) return
    toldAtMs = systemClock.monotonic()
    io.stderr.write(`${done} of ${total}\n`)
  }
  const results = await changeDeadLetters(work, { delivers: true }, (over) =>
    replayDeadLetters(chosen, over, progressed, io.signal),
  )
  // Keeps the report apart from events that a replay ships to stdout.
  const isToStdout = work.config.sinks.some(
    ({ type, name }) => type === 'stdout' && results.some(({ sink }) => sink === name),
  )
  const output = isToStdout ? io.stderr : io.stdout
  output.write(options.json === true ? replayJson(results) : replayText(results))
  if (io.signal.aborted) return exitCodes.done
  const isWhole = results.every(({ refused, left }) => refused.size === 0 && left === 0)
  return isWhole ? exitCodes.done : exitCodes.failed
}

function replayJson(results: readonly SinkReplay[]): string {
  const sinks = results.map(({ refused, ...rest }) => ({
    ...rest,
    refusedAgain: Object.fromEntries(refused),
  }))
  return jsonResult({ sinks })
}

function replayText(results: readonly SinkReplay[]): string {
  if (results.length === 0) return 'no dead letters\n'
  const lines = results.map(({ sink, delivered, refused, gone, left, error }) => {
    const reasons = [...refused].map(([reason, count]) => `${count} refused again (${reason})`)
    const parts = [
      `${delivered} delivered`,
      ...reasons,
      ...(gone > 0 ? [`${gone} already replayed or dropped`] : []),
      ...(left > 0 ? [`${left} not tried`] : []),
    ]
    return `${printable(sink)}: ${parts.join(', ')}${error === undefined ? '' : `: ${printable(error)}`}`
  })
  const isRefused = results.some(({ refused }) => refused.size > 0)
  return `${[...lines, ...(isRefused ? ['dead-letters list shows the reasons'] : [])].join('\n')}\n`
}
