import { readFileSync } from 'node:fs'

/** The package's version; package.json is two folders up both from `src/assemble/` and from `dist/assemble/`. */
export const version: string = readVersion()

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const read: unknown = JSON.parse(text)
  return typeof read === 'object' && read !== null && 'version' in read ? String(read.version) : 'unknown'
}
