import type { Command, Option } from 'commander'

/** An option as a shell completes it. */
export interface CompletedOption {
  /** `-c`, `--config`. */
  readonly flags: readonly string[]
  readonly description: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
  /** The value is a file or a folder. */
  readonly isPath: boolean
}

/** A command, or a group of commands, as a shell completes it. */
export interface CompletedCommand {
  /** Names from the program on, without it: `dead-letters list`; empty for the program itself. */
  readonly path: string
  readonly description: string
  readonly commands: readonly CompletedCommand[]
  readonly options: readonly CompletedOption[]
  /** Values of its arguments. */
  readonly choices: readonly string[]
}

/** Everything that can follow the name of the program, read from the program itself. */
export function completedCommand(command: Command, path = ''): CompletedCommand {
  const help = command.createHelp()
  const children = help.visibleCommands(command).filter((child) => child.name() !== 'help')
  return {
    path,
    description: command.description(),
    commands: children.map((child) => completedCommand(child, `${path} ${child.name()}`.trim())),
    options: help.visibleOptions(command).map(completedOption),
    choices: [
      ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
      ...(path === '' ? ['help'] : []),
    ],
  }
}

/** The command and all below it. */
export function everyCommand(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** The last name of its path. */
export function nameOf({ path }: CompletedCommand): string {
  return path.split(' ').at(-1) ?? ''
}

function completedOption(option: Option): CompletedOption {
  return {
    flags: [option.short, option.long].flatMap((flag) => flag ?? []),
    description: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
    isPath: /<(?:[\w-]*file|path)>/.test(option.flags),
  }
}
