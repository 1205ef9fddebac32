import type { Command } from 'commander'
import { listDeadLetters } from '../assemble/dead-letters.ts'
import { printable } from '../domain/printable.ts'
import type { DeadLetter } from '../domain/delivery.ts'
import { collectNames } from './arguments.ts'
import { registerDrop } from './dead-letters-drop.ts'
import { registerReplay } from './dead-letters-replay.ts'
import { secondText } from './duration.ts'
import { jsonResult } from './json-result.ts'
import type { Registration } from './registration.ts'
import { unknown } from './selection.ts'
import { tableLines } from './table.ts'
import { paintFor } from './terminal.ts'

export function registerDeadLetters(registration: Registration): void {
  const { program, io, load } = registration
  const deadLetters = program
    .command('dead-letters')
    .description('events that a sink refused')
    .addHelpText('after', '\nExample:\n  shieldlog dead-letters list\n')
  deadLetters
    .command('list')
    .description('what sinks refused, and why; oldest first')
    .option('--sink <sink>', 'only of this sink; repeatable, takes comma lists', collectNames)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  shieldlog dead-letters list --sink siem\n')
    .action(async ({ sink = [], json }: { sink?: string[]; json?: boolean }, command: Command) => {
      const { config } = load(command, 'nothing')
      const all = await listDeadLetters(config)
      // A sink that left the configuration may have some still.
      const known = new Set([...config.sinks.map(({ name }) => name), ...all.map((letter) => letter.sink)])
      for (const name of sink)
        if (!known.has(name)) throw unknown('--sink', name, 'is not known', [...known], [...known])
      const letters = sink.length === 0 ? all : all.filter((letter) => sink.includes(letter.sink))
      io.stdout.write(json === true ? listJson(letters) : listText(letters, paintFor(io.stdout).width))
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
  const counts = countsOf(letters).map(({ sink, reason, count }) => `${printable(sink)}: ${count} ${reason}`)
  return `${[...tableLines(header, rows, { width }), '', ...counts].join('\n')}\n`
}

function countsOf(letters: readonly DeadLetter[]): { sink: string; reason: string; count: number }[] {
  const groups = Map.groupBy(letters, ({ sink, reason }) => `${sink} ${reason}`)
  return [...groups.values()].map((group) => {
    const { sink, reason } = group[0]!
    return { sink, reason, count: group.length }
  })
}
