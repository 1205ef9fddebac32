import type { Command } from 'commander'
import { listDeadLetters } from '../assemble/dead-letters.ts'
import { printable } from '../domain/printable.ts'
import type { DeadLetter } from '../domain/delivery.ts'
import { chosenOf, countLines, countsOf, withLetterChoice, type LetterChoice } from './dead-letters-choice.ts'
import { registerDrop } from './dead-letters-drop.ts'
import { registerReplay } from './dead-letters-replay.ts'
import { secondText } from './duration.ts'
import { jsonResult } from './json-result.ts'
import type { Registration } from './registration.ts'
import { tableLines } from './table.ts'
import { paintFor } from './terminal.ts'

export function registerDeadLetters(registration: Registration): void {
  const { program, io, load } = registration
  const deadLetters = program
    .command('dead-letters')
    .description('events that a sink refused')
    .addHelpText('after', '\nExample:\n  shieldlog dead-letters list\n')
  withLetterChoice(deadLetters.command('list'))
    .description('what sinks refused, and why; oldest first')
    .addHelpText('after', '\nExample:\n  shieldlog dead-letters list --sink siem\n')
    .action(async (options: LetterChoice, command: Command) => {
      const { config } = load(command, 'nothing')
      const letters = chosenOf(config, await listDeadLetters(config), options)
      io.stdout.write(
        options.json === true ? listJson(letters) : listText(letters, paintFor(io.stdout).width),
      )
    })
  registerReplay(deadLetters, registration)
  registerDrop(deadLetters, registration)
}

function listJson(letters: readonly DeadLetter[]): string {
  return jsonResult({
    deadLetters: letters.map(({ event: _event, at, ...letter }) => ({
      ...letter,
      at: new Date(at).toISOString(),
    })),
    counts: countsOf(letters),
  })
}

function listText(letters: readonly DeadLetter[], width: number): string {
  if (letters.length === 0) return 'no dead letters\n'
  const rows = letters.map(({ at, zone, day, sink, reason, id, answer }) => [
    secondText(new Date(at).toISOString()),
    String(zone),
    printable(day),
    printable(sink),
    reason,
    printable(id, 40),
    printable(answer, 300),
  ])
  const header = ['refused at', 'zone', 'day', 'sink', 'reason', 'event', 'answer']
  const counts = countLines(countsOf(letters)).map((line) => printable(line))
  return `${[...tableLines(header, rows, { width }), '', ...counts].join('\n')}\n`
}
