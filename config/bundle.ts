import { rolldown } from 'rolldown'
import { fileShape } from '../src/config/file-shape.ts'

/**
 * What the sources use of packages whose entries load much more: of undici a second fetch, WebSocket, caches and mocks,
 * which take half of the code of a start; of prom-client a push gateway and Node's clusters.
 */
const parts: Readonly<Record<string, string>> = {
  undici: `
import api from 'undici/lib/api/index.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Client from 'undici/lib/dispatcher/client.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'
Object.assign(Dispatcher.prototype, api)
import Pool from 'undici/lib/dispatcher/pool.js'
import buildConnector from 'undici/lib/core/connect.js'
export { Agent, buildConnector, Client, Dispatcher, Pool, ProxyAgent }
`,
  'prom-client': `
export { default as Registry } from 'prom-client/lib/registry.js'
export { default as collectDefaultMetrics } from 'prom-client/lib/defaultMetrics.js'
`,
}
const partOf = 'part-of:'

/**
 * Modules of undici that are never used: a second parser of HTTP, as WebAssembly in text, which an environment variable
 * asks for, and HTTP/2, which no dispatcher allows and which loads Node's own HTTP/2 at every start.
 */
const unused: Readonly<Record<string, string>> = {
  '/node_modules/undici/lib/dispatcher/parser-h1.js': 'module.exports = { getMiloEnabled: () => false }',
  '/node_modules/undici/lib/dispatcher/client-h2.js': 'module.exports = undefined',
}

/** As text in the code it would stay in memory, with the text of that code: 1 MB. */
const shapeFile = 'file-shape.json'

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
 * time of one from modules, most of which is spent on finding and compiling a thousand files. Returns the folders of
 * these packages.
 */
export async function bundle({ input, folder, addressOf, banner = () => '' }: Bundle): Promise<string[]> {
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
        name: 'parts of packages',
        resolveId: (id) => (Object.hasOwn(parts, id) ? { id: `${partOf}${id}` } : undefined),
        load(id) {
          if (id.startsWith(partOf)) return parts[id.slice(partOf.length)]
          return Object.entries(unused).find(([path]) => id.endsWith(path))?.[1]
        },
      },
      {
        name: 'shape of the configuration as data',
        transform(_code, id) {
          if (!id.endsWith('/src/config/file-shape.ts')) return undefined
          this.emitFile({ type: 'asset', fileName: shapeFile, source: JSON.stringify(fileShape) })
          const file = `new URL('./${shapeFile}', import.meta.url)`
          return `import { readFileSync } from 'node:fs'
            export const fileShape = JSON.parse(readFileSync(${file}, 'utf8'))`
        },
      },
      {
        name: 'ASCII only',
        // V8 keeps a source that has any other character with two bytes for each: 1.6 MB more.
        generateBundle(_options, output) {
          for (const file of Object.values(output))
            if (file.type === 'chunk') file.code = file.code.replaceAll(/[\u0080-\uffff]/g, escaped)
        },
      },
    ],
  })
  const { output } = await bundled.write({
    dir: folder,
    format: 'esm',
    // Pure comments of packages are a tenth of the code that a start reads.
    comments: { legal: true, annotation: false, jsdoc: false },
    banner: ({ isEntry, name }) => (isEntry ? banner(name) : ''),
  })
  await bundled.close()
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  const packages = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? [])
  return [...new Set(packages)].toSorted()
}

/** Of one UTF-16 unit: valid in strings, templates, expressions and names, and with the same meaning. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
