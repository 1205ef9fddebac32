import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle } from '../../../config/bundle.ts'
import { programs } from './programs.ts'

/** Bundles what tests start often. Modules keep the addresses of their sources. */
export async function bundlePrograms(folder: string): Promise<void> {
  // As in the published package; otherwise Node compiles each file twice to find out what it is.
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  await bundle({
    input: programs,
    folder,
    addressOf: (path) => JSON.stringify(pathToFileURL(path).href),
    // Help and hints name the program as it was called.
    banner: (name) => (name === 'cli' ? `process.argv[1] = ${JSON.stringify(programs.cli)}` : ''),
  })
}
