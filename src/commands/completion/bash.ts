import { type CompletedCommand, everyCommand, nameOf } from './words.ts'

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
