export interface Instruction {
  readonly name: string
  /** What follows the name, continued lines joined, flags (`--from=x`) taken out. */
  readonly text: string
  readonly flags: Readonly<Record<string, string>>
}

export interface Stage {
  readonly image: string
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

/** The part of the Dockerfile language that this project writes; throws for what it does not know (heredocs, ARG before FROM …). */
export function parseDockerfile(text: string): Stage[] {
  const stages: { image: string; name: string | undefined; instructions: Instruction[] }[] = []
  for (const line of logicalLines(text)) {
    const instruction = parseInstruction(line)
    if (instruction.name === 'FROM') {
      const [image = '', , name] = instruction.text.split(/\s+/)
      stages.push({ image, name, instructions: [] })
      continue
    }
    const stage = stages.at(-1)
    if (stage === undefined) throw new Error(`before the first FROM: ${line}`)
    stage.instructions.push(instruction)
  }
  return stages
}

/** `["node", "x"]` → its words; undefined for the shell form. */
export function wordsOf(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined
  const words: unknown = JSON.parse(text)
  const isWords = Array.isArray(words) && words.every((word) => typeof word === 'string')
  if (!isWords) throw new Error(`not a list of words: ${text}`)
  return words
}

/** `A=1 B="2 3"` → routes. */
export function routesOf(text: string): Record<string, string> {
  const routes = [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g)]
  return Object.fromEntries(routes.map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']))
}

function logicalLines(text: string): string[] {
  const lines = text.split('\n').filter((line) => !/^\s*#/.test(line))
  return lines
    .join('\n')
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function parseInstruction(line: string): Instruction {
  const [, name = '', all = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
  if (name === '' || all.includes('<<')) throw new Error(`not understood: ${line}`)
  const [, flagText = '', text = ''] = /^((?:--[\w-]+=\S+\s+)*)(.*)$/.exec(all) ?? []
  const flags = [...flagText.matchAll(/--([\w-]+)=(\S+)/g)].map(([, key = '', value = '']) => [key, value])
  return { name, text, flags: Object.fromEntries(flags) as Record<string, string> }
}
