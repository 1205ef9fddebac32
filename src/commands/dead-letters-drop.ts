import type { Command } from 'commander'
import { withLetterDesk, type LetterDesk } from '../assemble/dead-letters.ts'
import { printable } from '../domain/printable.ts'
import type { Config } from '../config/schema.ts'
import {
  chosenOf,
  countLines,
  lettersText,
  totalOf,
  withLetterChoice,
  type LetterChoice,
} from './dead-letters-choice.ts'
import { exitCodes, type Io } from './io.ts'
import { jsonResult } from './json-result.ts'
import { UsageFault, type Registration } from './registration.ts'

type Options = LetterChoice & { readonly json?: boolean; readonly yes?: boolean }

export function registerDrop(parent: Command, { io, exit, load }: Registration): void {
  withLetterChoice(parent.command('drop'))
    .description('give dead letters up for good')
    .option('--yes', 'do not ask')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
A sink that is named is not asked about. Without --sink a person at a terminal is asked, and anybody
else has to say --yes. The events stay known: no run ships them again, and audit counts them as
dropped, not as missing. Only their number is kept: audit --deep --repair of a day that lacks more
lines than that brings all of them back, the dropped ones too.

Example:
  shieldlog dead-letters drop --sink siem
`,
    )
    .action(async (options: Options, command: Command) => {
      const { config } = load(command, 'nothing')
      exit(await withLetterDesk(config, (desk) => drop({ config, desk, io }, options)))
    })
}

async function drop(
  { config, desk, io }: { readonly config: Config; readonly desk: LetterDesk; readonly io: Io },
  options: Options,
): Promise<number> {
  const chosen = chosenOf(config, await desk.counts(), options)
  const groups = await desk.groups(chosen)
  if (groups.length > 0 && !(await isAgreed(chosen, options, io))) {
    io.stderr.write('nothing was dropped\n')
    return exitCodes.failed
  }
  const dropped = (await desk.drop(groups, io.signal)).flatMap(({ sink, counts }) =>
    [...counts].map(([reason, count]) => ({ sink, reason, count })),
  )
  if (options.json === true) io.stdout.write(jsonResult({ dropped }))
  else if (dropped.length === 0) io.stdout.write('no dead letters\n')
  else
    io.stdout.write(
      `${countLines(dropped)
        .map((line) => `dropped of ${printable(line)}`)
        .join('\n')}\n`,
    )
  return exitCodes.done
}

/** Throws UsageFault where nobody can be asked. */
async function isAgreed(
  chosen: Parameters<typeof countLines>[0],
  options: Options,
  io: Io,
): Promise<boolean> {
  if (options.yes === true || options.sink !== undefined) return true
  const what = `${lettersText(totalOf(chosen))} (${countLines(chosen)
    .map((line) => printable(line))
    .join('; ')})`
  if (io.ask === undefined)
    throw new UsageFault(`this would drop ${what}: name the sink with --sink, or say --yes`)
  const answer = await io.ask(`drop ${what} for good? [y/N] `)
  return /^y(?:es)?$/i.test(answer.trim())
}
