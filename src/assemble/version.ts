import { readFileSync } from 'node:fs'

/** package.json is two folders up both from `src/assemble/` and from `dist/assemble/`. */
const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')

/** The version of the package. */
export const { version } = JSON.parse(manifest) as { readonly version: string }
