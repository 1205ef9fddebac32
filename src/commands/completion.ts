import { Argument } from 'commander'
import { example } from './program-name.ts'
import type { Registration } from './command.ts'
import type { Command, Option } from 'commander'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }
type Shell = keyof typeof scripts

const help = `
Add the line to the start-up file of the shell. bash and zsh: source <(shieldlog completion bash);
fish: shieldlog completion fish | source.
`

export function registerCompletion({ program, command, io }: Registration): void {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .addHelpText('after', `${help}${example('completion bash')}`)
    .action((shell: Shell) => void io.stdout.write(scripts[shell](completedCommand(program))))
}

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

/** A completion script for bash. */
export function bashScript(program: CompletedCommand): string {
  const all = everyCommand(program)
  return `# Completion of shieldlog for bash. Load it with: source <(shieldlog completion bash)
_shieldlog() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" path= word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${all.map(pathCase).join('')}    esac
  done
  case "$path:$previous" in
${all.map(valueCases).join('')}  esac
  local words=
  case "$path" in
${all.map(wordsCase).join('')}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _shieldlog shieldlog
`
}

function pathCase({ path, commands }: CompletedCommand): string {
  return commands.map((child) => `      '${path} ${nameOf(child)}') path='${child.path}' ;;\n`).join('')
}

/** What follows an option that takes a value; \`-o default\` completes file names where there are no words. */
function valueCases({ path, options }: CompletedCommand): string {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ flags, choices }) => {
      const place = flags.map((flag) => `'${path}:${flag}'`).join(' | ')
      const reply =
        choices.length === 0
          ? ''
          : ` mapfile -t COMPREPLY < <(compgen -W '${choices.join(' ')}' -- "$current");`
      return `    ${place})${reply} return ;;\n`
    })
    .join('')
}

function wordsCase({ path, commands, options, choices }: CompletedCommand): string {
  const words = [...commands.map(nameOf), ...choices, ...options.flatMap(({ flags }) => flags)]
  return `    '${path}') words='${words.join(' ')}' ;;\n`
}

/** A completion script for zsh. */
export function zshScript(program: CompletedCommand): string {
  const all = everyCommand(program)
  return `#compdef shieldlog
# Completion of shieldlog for zsh. Load it after compinit with: source <(shieldlog completion zsh)
_shieldlog() {
  local place= word
  local -a names
  for word in \${words[2,CURRENT-1]}; do
    case "$place $word" in
${all.map(zshPlaceCase).join('')}    esac
  done
  case "$place:\${words[CURRENT-1]}" in
${all.map(zshValueCases).join('')}  esac
  case "$place" in
${all.map(namesCase).join('')}  esac
  _describe 'shieldlog' names
}
compdef _shieldlog shieldlog
`
}

function zshPlaceCase({ path, commands }: CompletedCommand): string {
  return commands.map((child) => `      '${path} ${nameOf(child)}') place='${child.path}' ;;\n`).join('')
}

function zshValueCases({ path, options }: CompletedCommand): string {
  return options
    .filter(({ takesValue }) => takesValue)
    .map((option) => {
      const place = option.flags.map((flag) => `'${path}:${flag}'`).join(' | ')
      return `    ${place}) ${valueOf(option)}return ;;\n`
    })
    .join('')
}

function valueOf({ choices, isPath }: CompletedOption): string {
  if (choices.length > 0) return `compadd -- ${choices.join(' ')}; `
  return isPath ? '_files; ' : ''
}

function namesCase({ path, commands, options, choices }: CompletedCommand): string {
  const described = [
    ...commands.map((child) => [nameOf(child), child.description] as const),
    ...choices.map((choice) => [choice, ''] as const),
    ...options.flatMap(({ flags, description }) => flags.map((flag) => [flag, description] as const)),
  ]
  const names = described.map(([name, description]) =>
    zshQuoted(`${name}:${description.replaceAll(':', '\\:')}`),
  )
  return `    '${path}') names=(${names.join(' ')}) ;;\n`
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A completion script for fish from 3.1 on: `--tokens-expanded` in place of `--tokenize` needs fish 4. */
export function fishScript(program: CompletedCommand): string {
  return `# Completion of shieldlog for fish. Load it with: shieldlog completion fish | source
function __shieldlog_is_at --description 'whether the command line is at this command'
    set --local place
    for word in (commandline --tokenize --cut-at-cursor --current-process)[2..]
        switch "$place $word"
${everyCommand(program).map(fishPlaceCase).join('')}        end
    end
    test "$place" = "$argv"
end
complete --command shieldlog --no-files
${everyCommand(program).map(completions).join('')}`
}

function fishPlaceCase({ path, commands }: CompletedCommand): string {
  return commands
    .map(
      (child) => `            case '${path} ${nameOf(child)}'\n                set place '${child.path}'\n`,
    )
    .join('')
}

function completions({ path, commands, options, choices }: CompletedCommand): string {
  const start = `complete --command shieldlog --condition ${fishQuoted(`__shieldlog_is_at ${fishQuoted(path)}`)}`
  const names = commands.map(
    (child) => `${start} --arguments ${nameOf(child)} --description ${fishQuoted(child.description)}\n`,
  )
  const words = choices.map((choice) => `${start} --arguments ${choice}\n`)
  const flags = options.map(({ flags: own, description, takesValue, choices: values, isPath }) => {
    const written = own.map((flag) =>
      flag.startsWith('--') ? `--long-option ${flag.slice(2)}` : `--short-option ${flag.slice(1)}`,
    )
    const value = !takesValue ? '' : isPath ? ' --require-parameter --force-files' : ' --exclusive'
    const list = values.length === 0 ? '' : ` --arguments ${fishQuoted(values.join(' '))}`
    return `${start} ${written.join(' ')}${value}${list} --description ${fishQuoted(description)}\n`
  })
  return [...names, ...words, ...flags].join('')
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`
}
