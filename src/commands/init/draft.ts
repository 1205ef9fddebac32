import type { ConfigError } from '../../config/schema/config-errors.ts'
import { isOurName } from '../../config/schema/settings.ts'
import { printable } from '../../domain/text/printable.ts'
import { UsageError } from '../registration.ts'
import { documentText, secretsIn, type Document } from './document.ts'

/** A configuration before anything of it is written: its secrets are in the environment that it is loaded with. */
export interface Draft {
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
