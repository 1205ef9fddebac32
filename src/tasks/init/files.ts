import { resolve } from 'node:path'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { isPlainObject } from '../../config/shape.ts'
import { literal } from '../../config/templates.ts'
import { Failure } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { Secret } from '../../domain/text/secret.ts'
import { yamlText } from '../../config/print.ts'
import { systemCode, systemErrorText } from '../../domain/text/system-error.ts'
import type { Draft } from './draft.ts'

const header =
  '# Written by shieldlog init. "shieldlog config print" shows every setting, with its default.\n'

const comments: Readonly<Record<string, string>> = {
  api: 'The access key of the bunny.net account. Its file is read again when the API refuses the key.',
  zones:
    'Shield zones whose events are shipped: ids or { id, name }, or all, or { all: true, exclude: [103] }.',
  state: 'What was shipped so far. If it is lost, everything that the API still has is shipped again.',
  sinks: 'Where events go. Each sink has a name, which must stay the same.',
}

interface NewFile {
  readonly path: string
  readonly text: string
}

export const keyFile = 'access-key'

/** The files that the draft becomes: one for each secret, and the configuration last. */
export function filesOf(draft: Draft, destination: string, file: string): NewFile[] {
  const secrets: NewFile[] = []
  /** Names the file of each secret in its place. */
  const placed = (value: unknown, around: readonly string[]): unknown => {
    // Only the list of sinks holds secrets.
    if (Array.isArray(value))
      return value.map((sink: { readonly name?: string }) => placed(sink, [sink.name ?? destination]))
    if (!isPlainObject(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => {
      if (!(inner instanceof Secret)) return [key, placed(inner, [...around, key])] as const
      // Git ignores names that end in `.secret` in a checkout.
      const name = around[0] === 'api' ? keyFile : `${[...around, key].map(fileWord).join('-')}.secret`
      const path = resolve(file, '..', name)
      secrets.push({ path, text: `${inner.reveal()}\n` })
      // A header has no setting for a file.
      return around.at(-1) === 'headers' ? [key, `\${file:${literal(path)}}`] : [`${key}File`, literal(path)]
    })
    return Object.fromEntries(entries)
  }
  const sections = Object.entries(draft).map(([name, section]) => {
    const comment = comments[name] === undefined ? '' : `# ${comments[name]}\n`
    return `${comment}${yamlText({ [name]: placed(section, [name]) })}`
  })
  return [...secrets, { path: file, text: [header, ...sections].join('\n') }]
}

/** `X-Token` → `x-token`, `apiKey` → `api-key`. */
function fileWord(key: string): string {
  return key.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
}

/** Throws Failure where the file exists. */
export function refuseExisting(path: string, remedy: string): void {
  if (!existsSync(path)) return
  const why = `${printable(path)} exists, and init overwrites nothing. ${remedy}`
  throw new Failure('stop', 'unwritable', why)
}

/** Writes all files, readable by their owner only, or none of them. Throws Failure. */
export function writeNewFiles(files: readonly NewFile[]): void {
  const written: string[] = []
  for (const { path, text } of files)
    try {
      writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true })
      written.push(path)
    } catch (cause) {
      // What was there before stays; what was written in part does not.
      const isThere = systemCode(cause) === 'EEXIST'
      for (const made of isThere ? written : [...written, path]) rmSync(made, { force: true })
      const remedy = `${isThere ? 'Remove it, or name' : 'Name'} another place with --file.`
      const why = `${printable(path)} cannot be written: ${systemErrorText(cause)}. ${remedy}`
      throw new Failure('stop', 'unwritable', why, { cause })
    }
}
