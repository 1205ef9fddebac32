import type { Command } from 'commander'
import { withStoredZones } from '../../assemble/zones-for-commands.ts'
import { deadLetterReader, listDeadLetters } from '../../assemble/dead-letters.ts'
import type { DeadLetter } from '../../domain/event/delivery.ts'
import { inertJson } from '../../domain/text/json-text.ts'
import { printable } from '../../domain/text/printable.ts'
import { areIdsFound, chosenOf, withDeadLetterChoice, type DeadLetterChoice } from './choice.ts'
import { exitCodes } from '../io.ts'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { secondText } from '../../domain/text/duration.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { wrap } from '../../domain/text/wrap.ts'
import { paintFor, type Paint } from '../terminal/terminal.ts'

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
  const { config } = await withStoredZones(load(command, 'state'))
  const read = deadLetterReader(config)
  const chosen = chosenOf(config, await listDeadLetters(config), options)
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
