import { yamlText } from '../../config/print.ts'
import type { ConfigError } from '../../config/errors.ts'
import { isOurName } from '../../config/shape.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { UsageError } from '../command.ts'
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { Failure } from '../../domain/failure.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'

/** A secret that is written to a separate file next to the configuration. */
export class KeptSecret {
  readonly file: string
  readonly value: string

  constructor(file: string, value: string) {
    this.file = file
    this.value = value
  }
}

/** Sections of the configuration, with secrets as KeptSecret. */
export type Document = Readonly<Record<string, unknown>>

const header = `# Written by shieldlog init. "shieldlog config print" shows every setting in force, with its origin.
`

const comments: Readonly<Record<string, string>> = {
  api: 'The access key of the bunny.net account. Its file is read again when the API refuses the key.',
  zones:
    'Shield zones whose events are shipped: ids or { id, name }, or all, or { all: true, exclude: [103] }.',
  state: 'What was shipped so far. If it is lost, everything that the API still has is shipped again.',
  sinks: 'Where events go. Each sink has a name, which must stay the same.',
}

/** Settings that are often changed, with their defaults. */
const suggestions: Readonly<Record<string, string>> = {
  poll: '{ everySeconds: 30 } # how often each zone is read',
  server: '{ host: 127.0.0.1, port: 9871 } # /metrics, /healthz, /readyz and /status',
  log: '{ level: info, format: auto }',
}

/** The setting that stands in the place of a secret at a path: its name and its value. */
type PlaceSecret = (path: readonly string[], secret: KeptSecret) => readonly [name: string, value: string]

/** The file as text. */
export function documentText(document: Document, placed: PlaceSecret): string {
  const sections = Object.entries(document).map(([name, section]) => {
    const comment = comments[name] === undefined ? '' : `# ${comments[name]}\n`
    return `${comment}${yamlText({ [name]: withSecrets(section, [name], placed) })}`
  })
  const unset = Object.entries(suggestions).filter(([name]) => !(name in document))
  const rest = unset.map(([name, text]) => `# ${name}: ${text}\n`).join('')
  return [
    header,
    ...sections,
    ...(rest === '' ? [] : [`# More settings, with their defaults:\n${rest}`]),
  ].join('\n')
}

export function secretsIn(value: unknown): KeptSecret[] {
  if (value instanceof KeptSecret) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretsIn) : []
}

function withSecrets(value: unknown, path: readonly string[], placed: PlaceSecret): unknown {
  if (Array.isArray(value)) return value.map((item) => withSecrets(item, path, placed))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]: [string, unknown]) => {
      const at = [...path, key]
      return inner instanceof KeptSecret ? placed(at, inner) : [key, withSecrets(inner, at, placed)]
    }),
  )
}

/** The name of the file in the place of each secret, which the program reads again when the secret is refused. */
export function secretsInFiles(pathOf: (file: string) => string): PlaceSecret {
  return (path, { file }) => {
    const name = path.at(-1)!
    // A header has no setting for a file.
    return path.at(-2) === 'headers'
      ? [name, `\${file:${literal(pathOf(file))}}`]
      : [`${name}File`, literal(pathOf(file))]
  }
}

/** Text that the configuration must not expand. */
export function literal(text: string): string {
  // A function, since `$$` in a replacement text means `$`.
  return text.replaceAll('${', () => '$${')
}

/** A configuration before anything of it is written: its secrets are in the environment that it is loaded with. */
interface Draft {
  readonly draft: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export function draftOf(document: Document): Draft {
  const secrets = secretsIn(document)
  const nameOf = (index: number) => `INIT_SECRET_${index}`
  const values = secrets.map(({ value }, index) => [nameOf(index), value] as const)
  const draft = documentText(document, (path, secret) => [
    path.at(-1)!,
    `\${${nameOf(secrets.indexOf(secret))}}`,
  ])
  return { draft, env: { ...ownEnvironment(draft), ...Object.fromEntries(values) } }
}

export function hasKeyInEnvironment(): boolean {
  return (process.env['SHIELDLOG_API_ACCESS_KEY'] ?? '') !== ''
}

/** Without settings of shieldlog that the draft does not name: they would hide what is wrong with it. */
function ownEnvironment(draft: string): NodeJS.ProcessEnv {
  const isUsed = (name: string) =>
    !isOurName(name) || draft.includes(`\${${name}`) || name.includes('_API_BASE_URL')
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isUsed(name)))
}

/** The errors of a draft in the words of the options. */
export function refusal(errors: readonly ConfigError[]): UsageError {
  return new UsageError(errors.map(lineOf).join('\nerror: '))
}

/** The same in the words of a question. */
export function answerText({ path, value, problem, remedy }: ConfigError): string {
  const setting = path.replace(/^sinks\[0\]\./, '')
  return printable(`${setting}${value === undefined ? '' : ` ${value}`} ${problem}; ${remedy}`)
}

const options: Readonly<Record<string, string>> = {
  'api.accessKeyFile': '--access-key-file',
  'api.accessKey': 'the access key',
  'sinks[0].path': '--path',
  'sinks[0].url': '--url',
}

function lineOf({ path, value, problem, remedy }: ConfigError): string {
  const option = options[path] ?? `--set ${path.replace(/^sinks\[0\]\./, '')}`
  return printable(`${option}${value === undefined ? '' : ` ${value}`} ${problem}; ${remedy}`)
}

interface NewFile {
  readonly path: string
  readonly text: string
}

/** Throws Failure where one of the files exists. */
export function refuseExisting(paths: readonly string[], remedy: string): void {
  const existing = paths.find((path) => existsSync(path))
  if (existing === undefined) return
  throw new Failure(
    'stop',
    'unwritable',
    `${printable(existing)} exists, and init overwrites nothing. ${remedy}`,
  )
}

/** Writes all files, readable by their owner only, or none of them. Throws Failure. */
export function writeNewFiles(files: readonly NewFile[]): void {
  const written: string[] = []
  let current = ''
  try {
    for (const { path, text } of files) {
      current = path
      const file = openSync(path, 'wx', 0o600)
      written.push(path)
      try {
        writeSync(file, text)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
    }
  } catch (cause) {
    for (const path of written) rmSync(path, { force: true })
    const why = `${printable(current)} cannot be written: ${systemErrorText(cause)}. Name another place with --file.`
    throw new Failure('stop', 'unwritable', why, { cause })
  }
}
