import type { Command } from 'commander'
import { openWork } from '../../assemble/work.ts'
import { deadLetterReader, dropAll, replayDeadLetters } from '../../assemble/dead-letters.ts'
import { printable, cut, wrap } from '../../domain/text/terminal-text.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import {
  areIdsFound,
  chosenOf,
  deadLetterNeeds,
  countLines,
  countsOf,
  withDeadLetterChoice,
  type DeadLetterChoice,
  totalOf,
  workOnDeadLetters,
  type DeadLetterWork,
} from './choice.ts'
import { secondText } from '../../domain/text/time.ts'
import { jsonResult, counted } from '../terminal/text.ts'
import { exitCodes, type Registration } from '../command.ts'
import { isConfirmed } from '../terminal/ask.ts'
import { tableLines } from '../terminal/table.ts'
import { paintFor, type Paint } from '../terminal/terminal.ts'
import { example, programName } from '../program-name.ts'
import { inertJson } from '../../domain/text/json-text.ts'
import type { SinkReplay } from '../../assemble/dead-letters.ts'
import { systemClock } from '../../clock.ts'

export function register(registration: Registration): void {
  const { command: deadLetters, io, exit, load } = registration
  deadLetters.addHelpText('after', example('dead-letters list'))
  withDeadLetterChoice(deadLetters.command('list'))
    .option('--json', 'as JSON')
    .description('list refused events with the reason, the oldest first')
    .addHelpText('after', example('dead-letters list --sink siem'))
    .action(async (options: DeadLetterChoice, command: Command) => {
      await using work = await openWork(load(command, 'state').config, deadLetterNeeds, io.signal)
      const deadLetters = chosenOf(work.config, await work.store.deadLetters.list(), options)
      if (!areIdsFound(deadLetters, options, io)) exit(exitCodes.failed)
      io.stdout.write(
        options.json === true ? listJson(deadLetters) : listText(deadLetters, paintFor(io.stdout).width),
      )
    })
  registerShow(deadLetters, registration)
  registerExport(deadLetters, registration)
  registerReplay(deadLetters, registration)
  registerDrop(deadLetters, registration)
}

function listJson(deadLetters: readonly DeadLetter[]): string {
  return jsonResult({
    deadLetters: deadLetters.map(({ event: _event, at, ...deadLetter }) => ({
      ...deadLetter,
      at: new Date(at).toISOString(),
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
    secondText(new Date(at).toISOString()),
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

export function registerShow(parent: Command, registration: Registration): void {
  const { io } = registration
  withDeadLetterChoice(parent.command('show'))
    .description('print refused events with the answer of the destination')
    .option('--json', 'as JSON')
    .addHelpText('after', example('dead-letters show --sink siem --limit 1'))
    .action(async (options: DeadLetterChoice, command: Command) => {
      const shown = await readChosen(options, command, registration)
      io.stdout.write(
        options.json === true ? jsonResult({ deadLetters: shown }) : showText(shown, paintFor(io.stdout)),
      )
    })
}

export function registerExport(parent: Command, registration: Registration): void {
  withDeadLetterChoice(parent.command('export'))
    .description('print refused events, one JSON object a line')
    .addHelpText('after', example('dead-letters export --sink siem --reason refused'))
    .action(async (options: DeadLetterChoice, command: Command) => {
      for (const each of await readChosen(options, command, registration))
        registration.io.stdout.write(`${inertJson(JSON.stringify(each))}\n`)
    })
}

async function readChosen(
  options: DeadLetterChoice,
  command: Command,
  { io, exit, load }: Registration,
): Promise<Shown[]> {
  await using work = await openWork(load(command, 'state').config, deadLetterNeeds, io.signal)
  const read = deadLetterReader(work.config)
  const chosen = chosenOf(work.config, await work.store.deadLetters.list(), options)
  if (!areIdsFound(chosen, options, io)) exit(exitCodes.failed)
  return chosen.map((deadLetter) => {
    const { at, ...rest } = deadLetter
    return { ...rest, at: new Date(at).toISOString(), event: null, ...read(deadLetter) }
  })
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

type Options = DeadLetterChoice & { readonly yes?: boolean }

export function registerDrop(parent: Command, registration: Registration): void {
  const command = parent
    .command('drop')
    .description('remove dead letters without delivering them')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
Asks for confirmation; without a terminal, --yes is required. The store keeps their ids: no run ships
them again, and audit counts them as dropped, not as missing. It keeps only their number: audit --deep
--repair of a day that lacks more lines than that writes all of them again, the dropped ones too.

Example:
  ${programName()} dead-letters drop --sink siem
`,
    )
  workOnDeadLetters(command, registration, 'state', drop)
}

async function drop(on: DeadLetterWork<Options>): Promise<number> {
  const { work, chosen, options, io } = on
  if (chosen.length > 0 && !(await isAgreed(on))) {
    io.stderr.write('nothing was dropped\n')
    return exitCodes.failed
  }
  const dropped = (await dropAll(chosen, work, io.signal)).flatMap(({ sink, counts }) =>
    [...counts].map(([reason, count]) => ({ sink, reason, count })),
  )
  const lines = countLines(dropped).map((line) => `dropped of ${printable(line)}\n`)
  const text = lines.length === 0 ? 'no dead letters\n' : lines.join('')
  io.stdout.write(options.json === true ? jsonResult({ dropped }) : text)
  return exitCodes.done
}

function isAgreed({ chosen, options, io }: DeadLetterWork<Options>): Promise<boolean> {
  const counts = chosen.flatMap((group) => group.counts)
  const lines = countLines(counts).map((line) => printable(line))
  const would = `drop ${counted(totalOf(counts), 'dead letter')} (${lines.join('; ')})`
  return isConfirmed({ would, question: `${would}? They cannot be replayed afterwards.` }, options, io)
}

const tellEveryMs = 5_000

export function registerReplay(parent: Command, registration: Registration): void {
  const command = parent
    .command('replay')
    .description('deliver dead letters to their sinks again, and remove those that are accepted')
    .addHelpText(
      'after',
      `
Fix the destination or the configuration first. What the sink refuses again stays, with the new
reason (exit code 1). shieldlog sends the kept event in the format that is configured now, with the
redaction of then and of now. You can stop the command and start it again at any time, also while a
run is active on the same state.

Example:
  ${programName()} dead-letters replay --sink siem
`,
    )
  workOnDeadLetters(command, registration, 'sinks', replay)
}

async function replay({ work, chosen, options, io }: DeadLetterWork<DeadLetterChoice>): Promise<number> {
  const total = totalOf(chosen.flatMap(({ counts }) => counts))
  if (total > 0) io.stderr.write(`replaying ${counted(total, 'dead letter')}\n`)
  let [done, toldAtMs] = [0, systemClock.monotonic()]
  const progressed = (tried: number) => {
    done += tried
    if (systemClock.monotonic() - toldAtMs < tellEveryMs) return
    toldAtMs = systemClock.monotonic()
    io.stderr.write(`${done} of ${total}\n`)
  }
  const results = await replayDeadLetters(chosen, work, progressed, io.signal)
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
