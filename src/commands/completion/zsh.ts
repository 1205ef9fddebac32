import { type CompletedCommand, type CompletedOption, everyCommand, nameOf } from './words.ts'

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
${all.map(placeCase).join('')}    esac
  done
  case "$place:\${words[CURRENT-1]}" in
${all.map(valueCases).join('')}  esac
  case "$place" in
${all.map(namesCase).join('')}  esac
  _describe 'shieldlog' names
}
compdef _shieldlog shieldlog
`
}

function placeCase({ path, commands }: CompletedCommand): string {
  return commands.map((child) => `      '${path} ${nameOf(child)}') place='${child.path}' ;;\n`).join('')
}

function valueCases({ path, options }: CompletedCommand): string {
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
    quoted(`${name}:${description.replaceAll(':', '\\:')}`),
  )
  return `    '${path}') names=(${names.join(' ')}) ;;\n`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
