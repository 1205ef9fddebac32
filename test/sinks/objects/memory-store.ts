import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { tableFor } from '../../../src/formats/registry.ts'
import { readParquet } from '../../../src/sinks/objects/parquet.ts'
import { lineTable } from '../file/samples.ts'
import type { ObjectStore } from '../../../src/sinks/objects/store.ts'

const ofLines = lineTable(() => '')

interface Stored {
  readonly body: Buffer
  readonly contentType: string
  readonly metadata: Readonly<Record<string, string>>
}

/** A store of objects in memory. `before` and `after` a write a test may hold it up, throw, or say that no answer came. */
export function createMemoryStore() {
  const objects = new Map<string, Stored>()
  const script = {
    before: async (_key: string): Promise<void> => undefined,
    /** False: the answer is lost. */
    after: async (_key: string): Promise<boolean> => true,
  }
  const requests: string[] = []
  const store: ObjectStore = {
    address: 'memory/',
    async create(key, body, about) {
      requests.push(`put ${key}`)
      await script.before(key)
      const isFree = !objects.has(key)
      if (isFree) objects.set(key, { body, ...about })
      return (await script.after(key)) && isFree ? 'created' : 'exists'
    },
    async head(key) {
      requests.push(`head ${key}`)
      const found = objects.get(key)
      return found && { metadata: found.metadata, bytes: found.body.length }
    },
    async get(key) {
      requests.push(`get ${key}`)
      return objects.get(key)?.body
    },
    async *list(prefix) {
      for (const key of [...objects.keys()].sort())
        if (key.startsWith(prefix)) yield { key, bytes: objects.get(key)!.body.length }
    },
    remove: async (key) => void objects.delete(key),
    close: async () => undefined,
  }
  /** Of the objects with data, in the order of their keys. */
  function keys(): string[] {
    return [...objects.keys()].filter((key) => !key.includes('_shieldlog/')).sort()
  }
  return {
    store,
    objects,
    script,
    requests,
    keys,
    async lines(): Promise<string[]> {
      const all: string[] = []
      for (const key of keys()) all.push(...(await linesIn(key, objects.get(key)!.body)))
      return all
    },
  }
}

/** Of an object in any form. */
export async function linesIn(key: string, body: Buffer): Promise<string[]> {
  const tables = (layout: string) => (layout === ofLines.layout ? ofLines : tableFor(layout))
  if (key.endsWith('.parquet')) return (await Array.fromAsync(readParquet(body, tables))).flat()
  const text = key.endsWith('.gz') ? gunzipSync(body) : zstdDecompressSync(body)
  return text.toString().trimEnd().split('\n')
}
