import { Argument, type Command, type Option } from 'commander'
import { ConfigErrors } from '../../config/errors.ts'
import { loadConfig } from '../../config/load.ts'
import type { Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'

/** Each asks the program what may follow the words; where it answers nothing, the shell completes file names. */
const scripts = {
  bash: `# Completion of shieldlog for bash. Load it with: source <(shieldlog completion bash)
_shieldlog() {
  mapfile -t COMPREPLY < <(shieldlog completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _shieldlog shieldlog
`,
  zsh: `#compdef shieldlog
# Completion of shieldlog for zsh. Load it after compinit with: source <(shieldlog completion zsh)
_shieldlog() {
  local -a names
  names=("\${(@f)$(shieldlog completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$names" ]]; then _describe shieldlog names; else _files; fi
}
compdef _shieldlog shieldlog
`,
  fish: `# Completion of shieldlog for fish from 3.1 on. Load it with: shieldlog completion fish | source
function __shieldlog_words
    set --local before (commandline --tokenize --cut-at-cursor --current-process)[2..]
    set --local current (commandline --current-token --cut-at-cursor)
    set --local found (shieldlog completion fish -- $before "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete --command shieldlog --no-files --arguments '(__shieldlog_words)'
`,
}
type Shell = keyof typeof scripts

const help = `
Add the line to the start-up file of the shell. bash and zsh: source <(shieldlog completion bash);
fish: shieldlog completion fish | source. The script calls this command with the words typed so far.
`

export function register({ program, command, io }: Registration): void {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .argument('[words...]', 'print what may follow these words, the last of which may be unfinished')
    .addHelpText('after', `${help}${example('completion bash')}`)
    .action((shell: Shell, words: readonly string[]) => {
      if (words.length === 0) io.stdout.write(scripts[shell])
      else for (const each of following(program, words)) io.stdout.write(`${lineFor(shell, each)}\n`)
    })
}

type Candidate = readonly [name: string, description: string]

/** What may stand in the place of the last word. */
function following(program: Command, words: readonly string[]): Candidate[] {
  let command = program
  let option: Option | undefined
  for (const word of words.slice(0, -1)) {
    if (option?.required === true) option = undefined
    else if (word.startsWith('-'))
      option = command.options.find(({ short, long }) => short === word || long === word)
    else command = command.commands.find((each) => each.name() === word) ?? command
  }
  const takers = option?.required === true ? [option] : command.registeredArguments
  const choices = takers.flatMap(({ argChoices }) => argChoices ?? []).map((name): Candidate => [name, ''])
  const candidates =
    option?.required === true
      ? [...choices, ...valuesOf(option, words)]
      : [...candidatesOf(command), ...choices]
  return candidates.filter(([name]) => name.startsWith(words.at(-1) ?? ''))
}

/** Names that the configuration holds, and days. Nothing where it cannot be read: the shell has no place for an error. */
function valuesOf({ long }: Option, words: readonly string[]): Candidate[] {
  if (long === '--day' || long === '--from' || long === '--to')
    return ['today', 'yesterday'].map((day): Candidate => [day, ''])
  if (long !== '--zone' && long !== '--sink' && long !== '--source') return []
  const named = words.findIndex((word) => word === '-c' || word === '--config')
  try {
    const { zones, sinks } = loadConfig({
      argv: { config: named < 0 ? undefined : words[named + 1] },
      needs: 'nothing',
    }).config
    if (long === '--zone') return zones.map(({ id, name }): Candidate => [name ?? String(id), `zone ${id}`])
    return sinks.map(({ name, type }): Candidate => [name, type])
  } catch (error) {
    if (error instanceof ConfigErrors) return []
    throw error
  }
}

function candidatesOf(command: Command): Candidate[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).map((each): Candidate => [each.name(), each.description()])
  const options = help.visibleOptions(command).flatMap(({ short = '', long = '', description }) => {
    return [short, long].filter(Boolean).map((name): Candidate => [name, description])
  })
  return [...commands, ...options]
}

function lineFor(shell: Shell, [name, description]: Candidate): string {
  if (shell === 'fish') return `${name}\t${description}`
  return shell === 'zsh' ? `${name.replaceAll(':', '\\:')}:${description}` : name
}
