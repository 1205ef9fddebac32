import type { Command } from 'commander'
import { createProgram } from '../../src/program/program.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../setup/project-folder.ts'

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

const { scripts } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

/** How this program is called in a page, each with the arguments that it stands for. */
const calls: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(?:docker (?:exec \S+|compose (?:--\S+ \S+ )*exec \S+) )?node \/app\/src\/cli\.ts(?: |$)/, []],
  [/^(?:docker (?:exec \S+|compose (?:--\S+ \S+ )*exec \S+) )?shieldlog(?: |$)/, []],
  [/^npm run -s shieldlog --(?: |$)/, []],
  [/^npm -s start(?: -- |$)/, ['run']],
  [/^npm run demo(?: -- |$)/, ['demo']],
]

/** What is wrong with the commands of a shell block: comments, scripts, commands and options that do not exist. */
export function problemsInShell(text: string, program: Command): string[] {
  const problems: string[] = []
  for (const line of text.replaceAll('\\\n', ' ').split('\n'))
    if (/(?:^|\s)#/.test(line)) problems.push(`a comment, which zsh passes on: ${line}`)
  for (const command of commandsIn(text)) {
    const script = /^npm run (?:-s )?([\w:]+)/.exec(command)?.[1]
    if (script !== undefined && !Object.hasOwn(scripts, script)) problems.push(`no npm script: ${script}`)
    const args = argumentsOf(command)
    if (args !== undefined) problems.push(...problemsInArguments(args, program))
  }
  return problems
}

/** Single commands: continued lines joined, pipes and lists split, assignments before them left out. */
function commandsIn(text: string): string[] {
  return text
    .replaceAll('\\\n', ' ')
    .split(/\n|&&|\|\||[|;]/)
    .map((part) => part.trim().replace(/^(?:[A-Z_]+=(?:"[^"]*"|\S*) +)+/, ''))
}

function argumentsOf(command: string): string[] | undefined {
  for (const [pattern, first] of calls) {
    const call = pattern.exec(command)?.[0]
    if (call === undefined) continue
    const [rest = ''] = command.slice(call.length).split(/ (?:[<>&]|2>)/)
    return [...first, ...(rest.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [])]
  }
  return undefined
}

/** As the parser reads them, without running anything. */
function problemsInArguments(args: readonly string[], program: Command): string[] {
  let command = program
  let left = args.filter((word) => !['-h', '--help', '--version'].includes(word))
  for (;;) {
    const { operands, unknown } = command.parseOptions(left)
    const child = command.commands.find((each) => each.name() === operands[0])
    if (child === undefined) {
      const most = command.commands.length > 0 ? 0 : command.registeredArguments.length
      const problems =
        operands.length > most ? [`${command.name()} takes fewer arguments: ${operands.join(' ')}`] : []
      return unknown.length === 0 ? problems : [...problems, `${command.name()} has no option ${unknown[0]}`]
    }
    command = child
    left = [...operands.slice(1), ...unknown]
  }
}
