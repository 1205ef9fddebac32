import type { Command } from 'commander'
import { createProgram } from '../../src/commands/program.ts'

const nowhere = { write: () => undefined }

/** The help of every command, as it is printed on a terminal of 100 columns. */
export function commandsReference(): string {
  const io = {
    stdout: nowhere,
    stderr: nowhere,
    signal: new AbortController().signal,
    exit(code: number): never {
      throw new Error(`ended at once with ${code}`)
    },
    onHangup: () => () => undefined,
  }
  const program = createProgram(io, () => undefined)
  return leaves(program)
    .map((command) => `\`\`\`text\n${helpOf(command).trim()}\n\`\`\``)
    .join('\n\n')
}

/** Commands that do something themselves, groups left out. */
function leaves(command: Command): Command[] {
  if (command.commands.length === 0) return [command]
  return command.commands.flatMap((child) => leaves(child))
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 100 }).outputHelp()
  return text
}
