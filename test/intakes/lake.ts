import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { fakeKey, startFakeBucket } from '../setup/fake-bucket.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { addEveryKind, shippedBy, type Shipped } from './every-kind.ts'
import { placeFor } from './place.ts'

export const kinds = ['ndjson', 'parquet'].flatMap((file) =>
  ['native', 'ocsf'].map((format) => ({ file, format }) as Kind),
)
export interface Kind {
  readonly file: 'ndjson' | 'parquet'
  readonly format: 'native' | 'ocsf'
}

/**
 * Folders by kind, each with the objects of a bucket below `shield/`: forty of ordinary events, then one with every
 * hostile and odd one. Readers meet the odd object last.
 */
export async function lakes(): Promise<{ folderOf(kind: Kind): string; shipped: readonly Shipped[] }> {
  const buckets = await Promise.all(kinds.map(() => startFakeBucket()))
  const name = ({ file, format }: Kind) => `${file}-${format}`
  const sinks = kinds.map((kind, index) => ({
    name: name(kind),
    type: 's3',
    ...kind,
    bucket: 'waf',
    prefix: 'shield/',
    region: 'eu-central-1',
    endpoint: buckets[index]!.url,
    everySeconds: 0.5,
    maxBytes: 65_536,
    ...fakeKey,
  }))
  const place = await placeFor({}, { days: 500 })
  place.configure({ sinks: [...sinks, { name: 'copy', type: 'file', path: place.events }] })
  const ship = async (codes: readonly number[]) => {
    const { code, stderr } = await place.once()
    expect(codes, stderr).toContain(code)
  }
  await ship([0])
  const ordinary = buckets.map(({ objects }) => objectsIn(objects.keys()).length)
  for (const objects of ordinary) expect(objects).toBeGreaterThanOrEqual(40)
  addEveryKind(place)
  // Those without a time have no form in ocsf.
  await ship([1])
  const root = temporaryFolder()
  for (const [index, kind] of kinds.entries()) {
    const { objects } = buckets[index]!
    expect(objectsIn(objects.keys()).length).toBeGreaterThan(ordinary[index]!)
    for (const key of objectsIn(objects.keys())) {
      const path = join(root, name(kind), key)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, objects.get(key)!.body)
    }
  }
  return { folderOf: (kind) => join(root, name(kind)), shipped: shippedBy(place) }
}

const objectsIn = (keys: Iterable<string>) => [...keys].filter((key) => key.includes('/day='))
