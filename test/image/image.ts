import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { projectFolder } from '../setup/project-folder.ts'
import { runCommand } from '../setup/run-command.ts'

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

/** A stage as if it had been built: a folder that stands for `/`. */
export interface BuiltStage {
  readonly root: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
}

/** Copies what the ignore file lets through: patterns without `*` inside a name, `**` between names, the last match counts. */
export function copyContext(from: string, to: string): void {
  const rules = readFileSync(join(from, '.dockerignore'), 'utf8').split('\n').filter(Boolean).map(parseRule)
  const isLetIn = (path: string): boolean => {
    let letIn = true
    for (const { pattern, lets } of rules) if (pattern.test(path)) letIn = lets
    return letIn
  }
  const letsIntoFolder = (name: string) =>
    rules.some(({ lets, source }) => lets && source.startsWith(`${name}/`))
  for (const name of readdirSync(from)) {
    if (!isLetIn(name) && !letsIntoFolder(name)) continue
    cpSync(join(from, name), join(to, name), {
      recursive: true,
      filter: (source) =>
        statSync(source).isDirectory() || isLetIn(source.slice(from.length).replace(/^\//, '')),
    })
  }
}

function parseRule(line: string): { pattern: RegExp; lets: boolean; source: string } {
  const lets = line.startsWith('!')
  const source = lets ? line.slice(1) : line
  const text = source
    .replaceAll('.', '\\.')
    .replaceAll('**/', '(?:.+/)?')
    .replaceAll(/(?<!\.)\*/g, '[^/]*')
  // A pattern that names a folder covers what is in it.
  return { pattern: new RegExp(`^${text}(?:/.*)?$`), lets, source }
}

/** Runs COPY, RUN and WORKDIR of the stage below `root`, with the tools of this machine in place of those of the image. */
export async function buildStage(
  stage: Stage,
  root: string,
  context: string,
  earlier: ReadonlyMap<string, BuiltStage>,
): Promise<BuiltStage> {
  let workdir = '/'
  const env: Record<string, string> = {}
  const below = (path: string): string => join(root, path.startsWith('/') ? path : join(workdir, path))
  for (const instruction of stage.instructions) {
    switch (instruction.name) {
      case 'WORKDIR':
        workdir = instruction.text
        mkdirSync(below('.'), { recursive: true })
        break
      case 'ENV':
        Object.assign(env, routesOf(instruction.text))
        break
      case 'COPY':
        copy(instruction, earlier.get(instruction.flags['from'] ?? '')?.root ?? context, below)
        break
      case 'RUN':
        await runCommand('/bin/sh', ['-ec', onThisMachine(instruction.text, root)], {
          cwd: below('.'),
          env: {
            ...env,
            PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
            npm_config_prefer_offline: 'true',
          },
        })
        break
      default: // What describes the container does nothing while it is built.
    }
  }
  return { root, workdir, env }
}

function copy(instruction: Instruction, source: string, below: (path: string) => string): void {
  const paths = instruction.text.split(/\s+/)
  const target = paths.at(-1) ?? ''
  for (const path of paths.slice(0, -1)) {
    const from = join(source, path)
    if (!existsSync(from)) throw new Error(`COPY ${instruction.text}: ${path} is not there`)
    // A folder is copied as its content; a target with a slash at its end is a folder.
    const isInside = !statSync(from).isDirectory() && target.endsWith('/')
    const to = isInside ? join(below(target), basename(path)) : below(target)
    mkdirSync(dirname(to), { recursive: true })
    cpSync(from, to, { recursive: true, verbatimSymlinks: true })
  }
}

/** Packages for development: what the build needs, and some that it has to remove again. The rest are 80 % of all files. */
const forDevelopment = ['rolldown', '@rolldown', '@oxc-project', 'node', 'typescript', 'vitest', 'oxlint']

/**
 * Absolute places of the image become places below `root`; only root may give files away, so for others nobody does.
 * What `npm ci` installs is copied from the checkout, where it has run: most of a build's time is spent on it.
 */
function onThisMachine(command: string, root: string): string {
  const { packages } = JSON.parse(readFileSync(`${projectFolder}package-lock.json`, 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true }>>
  }
  const kept = Object.entries(packages)
    .flatMap(([path, { dev }]) => (dev === true ? [] : path.split('node_modules/').slice(1, 2)))
    .filter((name) => existsSync(`${projectFolder}node_modules/${name}`))
  const names = [...new Set([...kept, ...forDevelopment])].map((name) => name.replace(/\/$/, '')).join(' ')
  const installed = `mkdir node_modules; (cd '${projectFolder}node_modules'; tar -c .bin .package-lock.json ${names} | tar -x -C "$OLDPWD/node_modules")`
  const moved = command
    .replaceAll(/(?<=^|\s)\/(app|var|home|usr)\b/g, `${root}/$1`)
    .replace(/^npm ci (?:--[\w-]+ ?)+$/, () => installed)
  return process.getuid?.() === 0 ? moved : moved.replaceAll(/\s-[og] \d+/g, '')
}

/** All of them, by their paths below the folder. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted()
}
