import { rolldown } from 'rolldown'
import { fileShape } from '../src/config/schema/file-shape.ts'

/**
 * What the sources use of undici. Its entry loads all of it: a second fetch, WebSocket, caches and mocks, which take
 * half of the code of a start.
 */
const undici = `
import api from 'undici/lib/api/index.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Client from 'undici/lib/dispatcher/client.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
Object.assign(Dispatcher.prototype, api)
export { Client, EnvHttpProxyAgent }
`

export interface Bundle {
  /** Files to start, by the names of their bundles. */
  readonly input: Readonly<Record<string, string>>
  readonly folder: string
  /** The expression that replaces `import.meta.url` in a source file: a module finds the files beside it. */
  readonly addressOf: (path: string) => string
  /** Put before the code of an entry. */
  readonly banner?: (name: string) => string
}

/**
 * Bundles programs with all packages that they use into a few files, `NAME.js` among them: a start takes half the CPU
 * time of one from modules, most of which is spent on finding and compiling a thousand files.
 */
export async function bundle({ input, folder, addressOf, banner = () => '' }: Bundle): Promise<void> {
  const bundled = await rolldown({
    input: { ...input },
    platform: 'node',
    // The sources need none of its settings, and the build context of the image has no tsconfig.json.
    tsconfig: false,
    plugins: [
      {
        name: 'address',
        transform(code, id) {
          if (id.includes('/node_modules/') || !code.includes('import.meta.url')) return undefined
          return code.replaceAll('import.meta.url', addressOf(id))
        },
      },
      {
        name: 'part of undici',
        resolveId: (id) => (id === 'undici' ? { id: 'part-of:undici' } : undefined),
        load: (id) => (id === 'part-of:undici' ? undici : undefined),
      },
      {
        name: 'shape of the configuration as data',
        transform(_code, id) {
          if (!id.endsWith('/src/config/schema/file-shape.ts')) return undefined
          return `export const fileShape = JSON.parse(${JSON.stringify(JSON.stringify(fileShape))})`
        },
      },
    ],
  })
  await bundled.write({
    dir: folder,
    format: 'esm',
    // Pure comments of packages are a tenth of the code that a start reads.
    comments: { legal: true, annotation: false, jsdoc: false },
    banner: ({ isEntry, name }) => (isEntry ? banner(name) : ''),
  })
  await bundled.close()
}
