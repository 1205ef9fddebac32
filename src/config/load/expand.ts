import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemErrorText } from '../../domain/text/system-error.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A template or a secret file without a usable value. Its message never holds a value. */
export class ExpandError extends Error {
  readonly remedy: string

  constructor(problem: string, remedy: string) {
    super(problem)
    this.name = 'ExpandError'
    this.remedy = remedy
  }
}

export interface Sources {
  readonly env: Environment
  readonly cwd: string
  /** Called with each environment name that a template uses. */
  readonly asked?: (name: string) => void
}

const marker = /\$\$\{|\$\{([^}]*)(\}?)/g

/** True for text that `expand` would change. */
export function isTemplate(text: string): boolean {
  return text.includes('${')
}

/**
 * Expands `${NAME}`, `${NAME:-default}` (the default applies when the name is unset or empty) and `${file:PATH}`; `$${`
 * stands for `${`. Inserted values are not expanded again. Throws ExpandError.
 */
export function expand(text: string, sources: Sources): string {
  return text.replaceAll(marker, (found: string, inside: string | undefined, end: string | undefined) => {
    if (inside === undefined) return '${'
    if (end !== '}')
      throw new ExpandError('contains "${" without "}"', 'add "}", or write "$${" for a literal "${"')
    return valueOf(inside, found, sources)
  })
}

function valueOf(inside: string, found: string, sources: Sources): string {
  if (inside.startsWith('file:')) return readSecretFile(inside.slice('file:'.length), sources.cwd)
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inside)
  if (match === null)
    throw new ExpandError(
      'contains a "${…}" with neither a variable nor file: in it',
      'write ${NAME}, ${NAME:-default} or ${file:/path}, or "$${" for a literal "${"',
    )
  const [, name = '', fallback] = match
  sources.asked?.(name)
  const value = sources.env[name]
  if (fallback !== undefined && (value === undefined || value === '')) return fallback
  if (value === undefined)
    throw new ExpandError(
      `uses ${found}, which is not set`,
      `set ${name} in the environment, or write \${${name}:-default}`,
    )
  return value
}

const secretFileLimit = 1_048_576

/** The text of a file without trailing line breaks. Relative paths start at `cwd`. Throws ExpandError. */
export function readSecretFile(path: string, cwd: string): string {
  const file = resolve(cwd, path)
  try {
    const found = statSync(file)
    // Reading a pipe or device could block for ever.
    if (!found.isFile())
      throw new ExpandError(`uses ${file}, which is not a regular file`, 'use a regular file')
    if (found.size > secretFileLimit)
      throw new ExpandError(
        `uses ${file}, which is larger than 1 MiB`,
        'use a file that contains only the secret',
      )
    return readFileSync(file, 'utf8').replace(/[\r\n]+$/, '')
  } catch (error) {
    if (error instanceof ExpandError) throw error
    throw new ExpandError(
      `uses ${file}, which cannot be read: ${systemErrorText(error)}`,
      'use a file that exists and that this user can read',
    )
  }
}
