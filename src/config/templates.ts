import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemCode, systemErrorText } from '../domain/text/system-error.ts'
import type { Environment } from './environment.ts'

/** A template or a secret file without a usable value. Its message never holds a value. */
export class ExpandError extends Error {
  readonly remedy: string
  /** A file is not there yet, or is empty. */
  readonly isAbsent: boolean

  constructor(problem: string, remedy: string, isAbsent = false) {
    super(problem)
    this.name = 'ExpandError'
    this.remedy = remedy
    this.isAbsent = isAbsent
  }
}

interface Sources {
  readonly env: Environment
  readonly cwd: string
  /** Collects each environment name that a template uses. */
  readonly asked?: Set<string>
}

/** True for text that `expand` would change. */
export function isTemplate(text: string): boolean {
  return text.includes('${')
}

/**
 * Expands `${NAME}`, `${NAME:-default}` (the default applies when the name is unset or empty) and `${file:PATH}`; `$${`
 * stands for `${`. Inserted values are not expanded again. Throws ExpandError.
 */
export function expand(text: string, { env, cwd, asked }: Sources): string {
  return text.replaceAll(/\$\$\{|\$\{([^}]*)(\}?)/g, (found: string, inside?: string, end?: string) => {
    if (inside === undefined) return '${'
    const literal = 'write "$${" for a literal "${"'
    if (end !== '}') throw new ExpandError('contains "${" without "}"', `add "}", or ${literal}`)
    if (inside.startsWith('file:')) return readSecretFile(inside.slice('file:'.length), cwd)
    const [, name, fallback] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(inside) ?? []
    if (name === undefined)
      throw new ExpandError(
        'contains a "${…}" with neither a variable nor file: in it',
        `write \${NAME}, \${NAME:-default} or \${file:/path}, or ${literal}`,
      )
    asked?.add(name)
    const value = env[name]
    if (fallback !== undefined && (value === undefined || value === '')) return fallback
    if (value !== undefined) return value
    throw new ExpandError(
      `uses ${found}, which is not set`,
      `set ${name} in the environment, or write \${${name}:-default}`,
    )
  })
}

/** The text of a file without trailing line breaks. Relative paths start at `cwd`. Throws ExpandError. */
export function readSecretFile(path: string, cwd: string): string {
  const file = resolve(cwd, path)
  let bytes: Buffer | undefined
  try {
    // Reading a pipe or device could block for ever.
    if (statSync(file).isFile()) bytes = readFileSync(file)
  } catch (error) {
    const problem = `uses ${file}, which cannot be read: ${systemErrorText(error)}`
    const isAbsent = systemCode(error) === 'ENOENT'
    throw new ExpandError(problem, 'use a file that exists and that this user can read', isAbsent)
  }
  if (bytes === undefined)
    throw new ExpandError(`uses ${file}, which is not a regular file`, 'use a regular file')
  // Editors and shells of Windows write UTF-16, or begin with a mark that is no part of the secret.
  if (!isUtf8(bytes)) throw new ExpandError(`uses ${file}, which is not UTF-8`, 'save the file as UTF-8')
  return new TextDecoder().decode(bytes).replace(/[\r\n]+$/, '')
}

/** Text that the configuration must not expand. */
export function literal(text: string): string {
  // A function, since `$$` in a replacement text means `$`.
  return text.replaceAll('${', () => '$${')
}
