import type { Command } from 'commander'
import { withStoredZones } from '../../assemble/discovery/for-commands.ts'
import { listDeadLetters } from '../../assemble/tasks/dead-letters.ts'
import { printable } from '../../domain/text/printable.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import { chosenOf, countLines, countsOf, withDeadLetterChoice, type DeadLetterChoice } from './choice.ts'
import { registerDrop } from './drop.ts'
import { registerExport, registerShow } from './show.ts'
import { registerReplay } from './replay.ts'
import { secondText } from '../terminal/duration.ts'
import { jsonResult } from '../terminal/json-result.ts'
import type { Registration } from '../registration.ts'
import { tableLines } from '../terminal/table.ts'
import { paintFor } from '../terminal/terminal.ts'
import { example } from '../program-name.ts'

export function registerDeadLetters(registration: Registration): void {
  const { command: deadLetters, io, load } = registration
  deadLetters.addHelpText('after', example('dead-letters list'))
  withDeadLetterChoice(deadLetters.command('list'))
    .option('--json', 'as JSON')
    .description('list refused events with the reason, the oldest first')
    .addHelpText('after', example('dead-letters list --sink siem'))
    .action(async (options: DeadLetterChoice, command: Command) => {
      const { config } = await withStoredZones(load(command, 'state'))
      const deadLetters = chosenOf(config, await listDeadLetters(config), options)
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

function listText(deadLetters: readonly DeadLetter[], width: number): string {
  if (deadLetters.length === 0) return 'no dead letters\n'
  const rows = deadLetters.map(({ at, zone, day, sink, reason, id, answer }) => [
    secondText(new Date(at).toISOString()),
    String(zone),
    printable(day),
    printable(sink),
    reason,
    printable(id, 40),
    printable(answer, 300),
  ])
  const header = ['refused at', 'zone', 'day', 'sink', 'reason', 'event', 'answer']
  const counts = countLines(countsOf(deadLetters)).map((line) => printable(line))
  return `${[...tableLines(header, rows, { width }), '', ...counts].join('\n')}\n`
}
