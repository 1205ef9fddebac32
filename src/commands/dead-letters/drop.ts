import type { Command } from 'commander'
import { printable } from '../../domain/text/printable.ts'
import {
  countLines,
  totalOf,
  workOnDeadLetters,
  type DeadLetterChoice,
  type DeadLetterWork,
} from './choice.ts'
import { counted } from '../terminal/number.ts'
import { exitCodes } from '../io.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { UsageError, type Registration } from '../registration.ts'
import { programName } from '../program-name.ts'

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
  const { tasks, chosen, options, io } = on
  if (chosen.length > 0 && !(await isAgreed(on))) {
    io.stderr.write('nothing was dropped\n')
    return exitCodes.failed
  }
  const dropped = (await tasks.drop(chosen, io.signal)).flatMap(({ sink, counts }) =>
    [...counts].map(([reason, count]) => ({ sink, reason, count })),
  )
  const lines = countLines(dropped).map((line) => `dropped of ${printable(line)}\n`)
  const text = lines.length === 0 ? 'no dead letters\n' : lines.join('')
  io.stdout.write(options.json === true ? jsonResult({ dropped }) : text)
  return exitCodes.done
}

/** Throws UsageError where there is no terminal to ask on. */
async function isAgreed({ chosen, options, io }: DeadLetterWork<Options>): Promise<boolean> {
  if (options.yes === true) return true
  const counts = chosen.flatMap((group) => group.counts)
  const lines = countLines(counts).map((line) => printable(line))
  const what = `${counted(totalOf(counts), 'dead letter')} (${lines.join('; ')})`
  if (io.ask === undefined)
    throw new UsageError(`this would drop ${what}; without a terminal to ask on, confirm with --yes`)
  const answer = await io.ask(`drop ${what}? They cannot be replayed afterwards. [y/N] `)
  return /^y(?:es)?$/i.test(answer.trim())
}
