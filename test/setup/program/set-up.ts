import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle } from '../../../config/bundle.ts'
import { bundleVariable, programs } from './program-file.ts'

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

/** Bundles what tests start often. Modules keep the addresses of their sources. */
async function bundlePrograms(folder: string): Promise<void> {
  // As in the published package; otherwise Node compiles each file twice to find out what it is.
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  await bundle({
    input: programs,
    folder,
    addressOf: (path) => JSON.stringify(pathToFileURL(path).href),
    // Help and hints name the program as it was called.
    banner: (name) => (name === 'cli' ? `process.argv[1] = ${JSON.stringify(programs.cli)}` : ''),
  })
}
