import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Caches the compiled sources below `node_modules`: a later start takes half the time and 20 MB less memory, since the
 * TypeScript stripper is not needed. A read-only cache folder is used; an entry of a changed source is not. The package
 * and the image are bundled JavaScript, of which a cache would save nothing.
 *
 * Call it before the other imports and after the heap was bounded, since V8's compiled code depends on its flags.
 */
export function keepCompiled(): void {
  if (!import.meta.url.endsWith('.ts')) return
  const directory = fileURLToPath(new URL('../../../node_modules/.cache/shieldlog', import.meta.url))
  enableCompileCache({ directory })
}
