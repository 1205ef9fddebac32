import type { Command } from 'commander'
import { createProgram } from '../../src/commands/program.ts'

const nowhere = { write: () => undefined }

/** The program, without what it would do. */
export function plainProgram(): Promise<Command> {
  const io = {
    stdout: nowhere,
    stderr: nowhere,
    signal: new AbortController().signal,
    exit(code: number): never {
      throw new Error(`ended at once with ${code}`)
    },
    onHangup: () => () => undefined,
  }
  return createProgram(io, () => undefined)
}

/** The help of every command, as it is printed on a terminal of 100 columns. */
export async function commandsReference(): Promise<string> {
  return told(await plainProgram())
    .map((command) => `## ${fullName(command)}\n\n\`\`\`text\n${helpOf(command).trim()}\n\`\`\``)
    .join('\n\n')
}

/** Commands that do something themselves: groups are left out, unless they have options of their own. */
function told(command: Command): Command[] {
  const children = command.commands.flatMap((child) => told(child))
  const isGroup = children.length > 0 && (command.parent === null || command.options.length <= 1)
  return isGroup ? children : [command, ...children]
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 100 }).outputHelp()
  return text
}
