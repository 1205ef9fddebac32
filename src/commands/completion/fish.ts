import { type CompletedCommand, everyCommand, nameOf } from './words.ts'

/** A completion script for fish from 3.1 on: `--tokens-expanded` in place of `--tokenize` needs fish 4. */
export function fishScript(program: CompletedCommand): string {
  return `# Completion of shieldlog for fish. Load it with: shieldlog completion fish | source
function __shieldlog_is_at --description 'whether the command line is at this command'
    set --local place
    for word in (commandline --tokenize --cut-at-cursor --current-process)[2..]
        switch "$place $word"
${everyCommand(program).map(placeCase).join('')}        end
    end
    test "$place" = "$argv"
end
complete --command shieldlog --no-files
${everyCommand(program).map(completions).join('')}`
}

function placeCase({ path, commands }: CompletedCommand): string {
  return commands
    .map(
      (child) => `            case '${path} ${nameOf(child)}'\n                set place '${child.path}'\n`,
    )
    .join('')
}

function completions({ path, commands, options, choices }: CompletedCommand): string {
  const start = `complete --command shieldlog --condition ${quoted(`__shieldlog_is_at ${quoted(path)}`)}`
  const names = commands.map(
    (child) => `${start} --arguments ${nameOf(child)} --description ${quoted(child.description)}\n`,
  )
  const words = choices.map((choice) => `${start} --arguments ${choice}\n`)
  const flags = options.map(({ flags: own, description, takesValue, choices: values, isPath }) => {
    const written = own.map((flag) =>
      flag.startsWith('--') ? `--long-option ${flag.slice(2)}` : `--short-option ${flag.slice(1)}`,
    )
    const value = !takesValue ? '' : isPath ? ' --require-parameter --force-files' : ' --exclusive'
    const list = values.length === 0 ? '' : ` --arguments ${quoted(values.join(' '))}`
    return `${start} ${written.join(' ')}${value}${list} --description ${quoted(description)}\n`
  })
  return [...names, ...words, ...flags].join('')
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`
}
