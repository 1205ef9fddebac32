import { pathToFileURL } from 'node:url'
import { bundle } from '../../../config/bundle.ts'
import { programs } from './programs.ts'

/** Bundles what tests start often. Modules keep the addresses of their sources. */
export function bundlePrograms(folder: string): Promise<void> {
  return bundle({
    input: programs,
    folder,
    addressOf: (path) => JSON.stringify(pathToFileURL(path).href),
    // Help and hints name the program as it was called.
    banner: (name) => (name === 'cli' ? `process.argv[1] = ${JSON.stringify(programs.cli)}` : ''),
  })
}
