import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Caches the compiled modules of the program below `node_modules`: a later start from the bundle takes 50 ms less CPU
 * time, and one from the sources half of it and 20 MB less memory, since the TypeScript stripper is not needed. A
 * read-only cache folder is used; an entry of a changed source, of another user or of another Node is not.
 *
 * Call it before the other imports and after the heap was bounded, since V8's compiled code depends on its flags.
 * `main` writes the cache.
 */
export function keepCompiled(): void {
  const directory = fileURLToPath(new URL('../../../node_modules/.cache/shieldlog', import.meta.url))
  enableCompileCache({ directory })
}
