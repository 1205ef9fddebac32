import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { programs } from './programs.ts'

/**
 * Bundles the programs with all packages into a few files, `NAME.js` among them: a process that is started from them
 * takes half the CPU time. Each module keeps its own address, so that it finds the files beside it.
 */
export async function bundlePrograms(folder: string): Promise<void> {
  const bundle = await rolldown({
    input: { ...programs },
    platform: 'node',
    // Loaded by `require` at run time.
    external: ['pino-pretty'],
    plugins: [
      {
        name: 'own-address',
        transform(code, id) {
          if (id.includes('/node_modules/') || !code.includes('import.meta.url')) return undefined
          return code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        },
      },
    ],
  })
  // Help and hints name the program as it was called.
  const asCalled = `process.argv[1] = ${JSON.stringify(programs.cli)}`
  await bundle.write({
    dir: folder,
    format: 'esm',
    banner: (chunk) => (chunk.isEntry && chunk.name === 'cli' ? asCalled : ''),
  })
  await bundle.close()
}
