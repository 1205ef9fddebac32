import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEcsFormat } from '../../src/formats/ecs.ts'
import { json, table } from '../formats/authorities.ts'
import { shapes } from '../formats/shapes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { leaves } from './leaves.ts'

interface Mapping {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Mapping>>
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(projectFolder, 'config/elasticsearch', `${name}.json`), 'utf8'))
const mappingOf = (name: string) => (read(name) as { template: { mappings: Mapping } }).template.mappings
const mapping = mappingOf('component-template')

/** The type of each mapped field by its dotted name. */
function typesIn({ properties = {} }: Mapping, path = ''): [string, string][] {
  return Object.entries(properties).flatMap(([key, field]) => {
    const name = path === '' ? key : `${path}.${key}`
    return field.type === undefined ? typesIn(field, name) : [[name, field.type] as [string, string]]
  })
}

const types = new Map(typesIn(mapping))

test('the component template maps every field that the format ecs writes', () => {
  const ecs = createEcsFormat({ labels: true, log: true, raw: true })
  const documents = shapes
    .filter(([, { time }]) => time !== undefined)
    .map(([, event]) => JSON.parse(ecs.encode(event)) as unknown)
  const isMapped = (name: string) =>
    [...types].some(
      ([known, type]) => known === name || (type === 'flattened' && name.startsWith(`${known}.`)),
    )
  const names = new Set(documents.flatMap((document) => leaves(document).map(([name]) => name)))
  expect([...names].filter((name) => !isMapped(name))).toEqual([])
})

test('its types are those of ECS, or equivalent types that every cluster has', () => {
  const published = table('ecs-fields.tsv')
  const inPlace: Readonly<Record<string, string>> = {
    wildcard: 'keyword',
    constant_keyword: 'keyword',
    match_only_text: 'text',
  }
  expect(json('ecs-allowed.json')).toBeTypeOf('object')
  for (const [name, type] of types) {
    const [expected] = published.get(name) ?? []
    if (expected === undefined) expect(name).toMatch(/^bunny\.shield\./)
    else expect(type, name).toBe(inPlace[expected] ?? expected)
  }
})

test('OpenSearch gets the same mapping with its name for flattened objects', () => {
  const translated = JSON.stringify(mapping).replaceAll('"flattened"', '"flat_object"')
  expect(mappingOf('component-template.opensearch')).toEqual(JSON.parse(translated))
})
