import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

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
      throw new ExpandError('holds "${" without "}"', 'close it, or write "$${" for a literal "${"')
    return valueOf(inside, found, sources)
  })
}

function valueOf(inside: string, found: string, sources: Sources): string {
  if (inside.startsWith('file:')) return readSecretFile(inside.slice('file:'.length), sources.cwd)
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inside)
  if (match === null)
    throw new ExpandError(
      'holds a "${…}" that is neither a name nor file:',
      'write ${NAME}, ${NAME:-default} or ${file:/path}, or "$${" for a literal "${"',
    )
  const [, name = '', fallback] = match
  sources.asked?.(name)
  const value = sources.env[name]
  if (fallback !== undefined && (value === undefined || value === '')) return fallback
  if (value === undefined)
    throw new ExpandError(
      `names ${found}, which is not set`,
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
    if (!found.isFile()) throw new ExpandError(`names ${file}, which is no file`, 'name a regular file')
    if (found.size > secretFileLimit)
      throw new ExpandError(
        `names ${file}, which is larger than 1 MiB`,
        'name the file that holds the secret alone',
      )
    return readFileSync(file, 'utf8').replace(/[\r\n]+$/, '')
  } catch (error) {
    if (error instanceof ExpandError) throw error
    throw new ExpandError(
      `names ${file}, which cannot be read: ${systemCode(error)}`,
      'name a file that exists and that this user may read',
    )
  }
}

export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
