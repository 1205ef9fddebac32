import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Caches the compiled sources below `node_modules`: a later start takes half the time and 20 MB less memory, since the
 * TypeScript stripper is not needed. A read-only cache folder is used; an entry of a changed source is not. The
 * published package is JavaScript already and caches nothing.
 *
 * Call it before the other imports and after the heap was bounded, since V8's compiled code depends on its flags.
 */
export function keepCompiled(): void {
  if (!import.meta.url.endsWith('.ts')) return
  const directory = fileURLToPath(new URL('../../../node_modules/.cache/shieldlog', import.meta.url))
  // Portable: an image is built in one folder and runs in another.
  enableCompileCache({ directory, portable: true })
}
