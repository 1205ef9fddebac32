import type { Command } from 'commander'
import { withStoredZones } from '../../assemble/zones-for-commands.ts'
import { listDeadLetters } from '../../assemble/dead-letters.ts'
import { printable } from '../../domain/text/printable.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import {
  areIdsFound,
  chosenOf,
  countLines,
  countsOf,
  withDeadLetterChoice,
  type DeadLetterChoice,
} from './choice.ts'
import { registerDrop } from './drop.ts'
import { registerExport, registerShow } from './show.ts'
import { registerReplay } from './replay.ts'
import { secondText } from '../../domain/text/duration.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { exitCodes } from '../io.ts'
import type { Registration } from '../registration.ts'
import { tableLines } from '../terminal/table.ts'
import { paintFor } from '../terminal/terminal.ts'
import { cut } from '../../domain/text/text-width.ts'
import { example } from '../program-name.ts'

export function registerDeadLetters(registration: Registration): void {
  const { command: deadLetters, io, exit, load } = registration
  deadLetters.addHelpText('after', example('dead-letters list'))
  withDeadLetterChoice(deadLetters.command('list'))
    .option('--json', 'as JSON')
    .description('list refused events with the reason, the oldest first')
    .addHelpText('after', example('dead-letters list --sink siem'))
    .action(async (options: DeadLetterChoice, command: Command) => {
      const { config } = await withStoredZones(load(command, 'state'))
      const deadLetters = chosenOf(config, await listDeadLetters(config), options)
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
