import { Option, type Command } from 'commander'
import { deadLetterReader } from './events.ts'
import { changeDeadLetters, dropDeadLetters, replayDeadLetters, type SinkReplay } from './replay.ts'
import type { Work } from '../../assemble/work.ts'
import type { Config } from '../../config/schema.ts'
import { refusalReasons, type DeadLetter, type RefusalReason } from '../../domain/event/delivery.ts'
import { inertJson } from '../../domain/text/json.ts'
import { printable, counted } from '../../domain/text/terminal-text.ts'
import { iso, secondText } from '../../domain/text/time.ts'
import { exitCodes, type Registration } from '../command.ts'
import { commandLine, example } from '../../terminal/program-name.ts'
import { resultOutput, type Io } from '../../terminal/io.ts'
import {
  atLeastOne,
  collectNames,
  dayArgument,
  dayForms,
  storedChoice,
  type StoredChoice,
} from '../options.ts'
import { isConfirmed } from '../../terminal/ask.ts'
import { table, type Column, paintFor, type Paint, jsonResult, plainSomeOf } from '../../terminal/text.ts'
import { resultText } from '../../terminal/yaml.ts'

const replayHelp = `
Fix the destination or the configuration first. What the sink refuses again stays, with the new
reason (exit code 1). shieldlog sends the kept event in the format that is configured now, with the
redaction of then and of now. You can stop the command and start it again at any time, also while a
run is active on the same state.
`

const dropHelp = `
Asks for confirmation; without a terminal, --yes is required. The state keeps their ids: no run ships
them again, and audit counts them as dropped, not as missing. It keeps only their number: audit --deep
--repair of a day that lacks more lines than that writes all of them again, the dropped ones too.
`

/** A subcommand: what it does with the selected dead letters, the oldest first. */
interface Verb {
  readonly name: string
  readonly description: string
  readonly help: string
  /** Returns what is printed, or whether all was done. */
  readonly act: (chosen: readonly DeadLetter[], on: Chosen) => string | Promise<boolean>
}

const verbs: readonly Verb[] = [
  {
    name: 'list',
    description: 'list refused events with the reason, the oldest first',
    help: example('dead-letters list --sink siem'),
    act: (chosen, { options, io }) =>
      options.json === true ? listJson(chosen) : listText(chosen, paintFor(io.stdout)),
  },
  {
    name: 'show',
    description: 'print refused events with the answer of the destination',
    help: example('dead-letters show --sink siem --limit 1'),
    act(chosen, { options, work }) {
      const deadLetters = shownOf(chosen, work.config)
      return deadLetters.length === 0 && options.json !== true
        ? 'no dead letters\n'
        : resultText({ deadLetters }, options.json)
    },
  },
  {
    name: 'export',
    description: 'print refused events, one JSON object a line',
    help: example('dead-letters export --sink siem --reason refused'),
    act(chosen, { work }) {
      const lines = shownOf(chosen, work.config).map((each) => inertJson(JSON.stringify(each)))
      return lines.map((line) => `${line}\n`).join('')
    },
  },
  {
    name: 'replay',
    description: 'deliver dead letters to their sinks again, and remove those that are accepted',
    help: `${replayHelp}${example('dead-letters replay --sink siem')}`,
    act: replay,
  },
  {
    name: 'drop',
    description: 'remove dead letters without delivering them',
    help: `${dropHelp}${example('dead-letters drop --sink siem')}`,
    act: drop,
  },
]

/** The selected dead letters; all of them without options. */
interface Choice extends StoredChoice {
  readonly id?: string[]
  readonly reason?: RefusalReason
  readonly limit?: number
  readonly json?: boolean
  readonly yes?: boolean
}

interface Chosen {
  readonly work: Work
  readonly options: Choice
  readonly io: Io
}

export function register({ command: deadLetters, io, exit, open }: Registration): void {
  deadLetters.addHelpText('after', example('dead-letters list'))
  for (const { name, description, help, act } of verbs) {
    const verb = deadLetters
      .command(name)
      .description(description)
      .addHelpText('after', help)
      .option('--id <id>', 'only this event id; repeatable', collectIds)
      .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
      .option('--zone <zone>', 'only this zone: id or name; repeatable, takes comma lists', collectNames)
      .option('--day <day>', `only this day: ${dayForms}`, dayArgument)
      .addOption(new Option('--reason <reason>', 'only this reason').choices(refusalReasons))
      .option('--limit <number>', 'at most this number, the oldest first', atLeastOne)
      .action(async (options: Choice, command: Command) => {
        // There are no dead letters where there is no store, and none is made.
        const needs = { store: 'existing', zones: 'stored' } as const
        await using work = await open(command, name === 'replay' ? 'sinks' : 'state', needs)
        const on = { work, options, io }
        const chosen = chosenOf(work.config, await work.store.deadLetters.list(), options)
        const areFound = areIdsFound(chosen, on)
        const done = await act(chosen, on)
        if (typeof done === 'string') io.stdout.write(done)
        exit(exitCodeOf(areFound, done))
      })
    if (name !== 'export') verb.option('--json', 'as JSON')
    if (name === 'drop') verb.option('--yes', 'do not ask')
  }
}

/** 1 where an id has no dead letter, where some stay after a replay, and where nothing was dropped. */
function exitCodeOf(areFound: boolean, done: string | boolean): number {
  return areFound && done !== false ? exitCodes.done : exitCodes.failed
}

/** An id may hold a comma. */
const collectIds = (text: string, before: readonly string[] = []) => [...before, text]

/** Applies the selection. Throws UsageError for a name that is not configured and has no dead letters. */
function chosenOf(config: Config, all: readonly DeadLetter[], options: Choice): DeadLetter[] {
  const { id, reason, limit } = options
  return storedChoice(config, all, options)
    .filter(
      (each) =>
        (id === undefined || id.includes(each.id)) && (reason === undefined || reason === each.reason),
    )
    .slice(0, limit)
}

/** Whether each id of `--id` has a dead letter; names the others on stderr. A limit may have left them out. */
function areIdsFound(
  chosen: readonly DeadLetter[],
  { options: { id = [], limit = Infinity }, io }: Chosen,
): boolean {
  const unknown = chosen.length < limit ? new Set(id).difference(new Set(chosen.map((each) => each.id))) : []
  for (const each of unknown) {
    const what = `no dead letter of event ${printable(each, 200)} matches`
    io.stderr.write(`${what}; to see them: ${commandLine('dead-letters list')}\n`)
  }
  return [...unknown].length === 0
}

function countsOf(deadLetters: readonly Pick<DeadLetter, 'sink' | 'reason'>[]) {
  const groups = Map.groupBy(deadLetters, ({ sink, reason }) => `${sink} ${reason}`)
  return [...groups.values()].map((own) => ({
    sink: own[0]!.sink,
    reason: own[0]!.reason,
    count: own.length,
  }))
}

/** `siem: 3 refused, 1 too_large`, one line per sink. */
function countLines(deadLetters: readonly Pick<DeadLetter, 'sink' | 'reason'>[]): string[] {
  return [...Map.groupBy(countsOf(deadLetters), ({ sink }) => sink)].map(([sink, own]) => {
    return printable(`${sink}: ${own.map(({ count, reason }) => `${count} ${reason}`).join(', ')}`)
  })
}

function listJson(all: readonly DeadLetter[]): string {
  const deadLetters = all.map(({ event: _event, at, ...deadLetter }) => ({ ...deadLetter, at: iso(at) }))
  return jsonResult({ deadLetters, counts: countsOf(all) })
}

const mostAnswer = 300

const columns: readonly Column<DeadLetter>[] = [
  ['refused at', ({ at }) => secondText(iso(at))],
  ['zone', ({ zone }) => String(zone)],
  ['day', ({ day }) => printable(day), { spare: 0 }],
  ['sink', ({ sink }) => printable(sink), { least: 8 }],
  ['reason', ({ reason }) => reason],
  ['event', ({ id }) => printable(id, 40), { least: 8 }],
  ['answer', ({ answer }) => printable(answer, mostAnswer), { least: 20 }],
]

function listText(deadLetters: readonly DeadLetter[], paint: Paint): string {
  if (deadLetters.length === 0) return 'no dead letters\n'
  return `${[...table(deadLetters, columns, paint), '', ...countLines(deadLetters)].join('\n')}\n`
}

/** Dead letters with their events in native form; null, and the problem, where one cannot be read. */
function shownOf(chosen: readonly DeadLetter[], config: Config) {
  const read = deadLetterReader(config)
  return chosen.map((each) => ({ ...each, at: iso(each.at), event: null, ...read(each) }))
}

async function drop(chosen: readonly DeadLetter[], { work, options, io }: Chosen): Promise<boolean> {
  const would = `drop ${counted(chosen.length, 'dead letter')} (${countLines(chosen).join('; ')})`
  const question = `${would}? They cannot be replayed afterwards.`
  if (chosen.length > 0 && !(await isConfirmed({ would, question }, options, io))) {
    io.stderr.write('nothing was dropped\n')
    return false
  }
  const dropped = await changeDeadLetters(work, { delivers: false }, (over) =>
    dropDeadLetters(chosen, over, io.signal),
  )
  const told =
    countLines(dropped)
      .map((line) => `dropped of ${line}\n`)
      .join('') || 'no dead letters\n'
  io.stdout.write(options.json === true ? jsonResult({ dropped: countsOf(dropped) }) : told)
  return true
}

async function replay(chosen: readonly DeadLetter[], { work, options, io }: Chosen): Promise<boolean> {
  if (chosen.length > 0) io.stderr.write(`replaying ${counted(chosen.length, 'dead letter')}\n`)
  const sinks = await changeDeadLetters(work, { delivers: true }, (over) =>
    replayDeadLetters(chosen, over, io.signal),
  )
  const tried = work.config.sinks.filter(({ name }) => sinks.some(({ sink }) => sink === name))
  resultOutput(io, tried).write(options.json === true ? jsonResult({ sinks }) : replayText(sinks))
  return io.signal.aborted || sinks.every((each) => !isRefused(each) && each.left === 0)
}

const isRefused = ({ refusedAgain }: SinkReplay) => Object.keys(refusedAgain).length > 0

function replayText(results: readonly SinkReplay[]): string {
  if (results.length === 0) return 'no dead letters\n'
  const lines = results.map(({ sink, delivered, refusedAgain, gone, left, error }) => {
    const again = Object.entries(refusedAgain).map(
      ([reason, count]) => [count, `refused again (${reason})`] as const,
    )
    const rest = plainSomeOf(...again, [gone, 'already replayed or dropped'], [left, 'not tried'])
    const why = error === undefined ? '' : `: ${printable(error)}`
    return `${printable(sink)}: ${[`${delivered} delivered`, ...rest].join(', ')}${why}\n`
  })
  return `${lines.join('')}${results.some(isRefused) ? 'dead-letters list shows the reasons\n' : ''}`
}
