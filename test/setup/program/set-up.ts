import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundlePrograms } from './bundle.ts'
import { bundleVariable } from './program-file.ts'

/**
 * Runs before any test, for each project that starts programs: the first one bundles for all. The folder is one of this
 * run: two may run in one checkout.
 */
export async function setup(): Promise<() => void> {
  if (process.env[bundleVariable] !== undefined) return () => undefined
  const folder = mkdtempSync(join(tmpdir(), 'shieldlog-programs-'))
  await bundlePrograms(folder)
  process.env[bundleVariable] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}
