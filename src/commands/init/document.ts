import { yamlText } from '../../config/show/print.ts'

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
export type PlaceSecret = (
  path: readonly string[],
  secret: KeptSecret,
) => readonly [name: string, value: string]

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
