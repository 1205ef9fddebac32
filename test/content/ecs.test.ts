import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { createEcsFormat } from '../../src/formats/ecs.ts'
import type { Wanted } from '../../src/formats/line.ts'
import { table } from '../formats/authorities.ts'
import { shapes } from '../formats/shapes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { fieldsIn, leaves, type Fields } from './leaves.ts'

const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(projectFolder, 'config/elasticsearch', `${name}.json`), 'utf8'))
const mappingOf = (name: string) => (read(name) as { template: { mappings: Fields } }).template.mappings
const mapping = mappingOf('component-template')

/** The type of each mapped field by its dotted name. */
const types = new Map(
  fieldsIn(mapping).flatMap(([name, { type }]) => (typeof type === 'string' ? [[name, type]] : [])),
)

/** The fields that the format ecs writes with these parts of an event, or with its defaults. */
function written(include?: Wanted): string[] {
  const { encode } = createEcsFormat(include)
  const timed = shapes.filter(([, { time }]) => time !== undefined)
  const names = timed.flatMap(([, event]) => leaves(JSON.parse(encode(event))).map(([name]) => name))
  return [...new Set(names)]
}

test('the component template maps every field that the format ecs writes', () => {
  const isMapped = (name: string) =>
    [...types].some(([known, type]) => known === name || (type === 'object' && name.startsWith(`${known}.`)))
  const all = written({ labels: true, log: true, raw: true })
  expect(all.filter((name) => !isMapped(name))).toEqual([])
})

test('its types are those of ECS, or equivalent types that every cluster has', () => {
  const published = table('ecs-fields.tsv')
  const inPlace: Readonly<Record<string, string>> = {
    wildcard: 'keyword',
    constant_keyword: 'keyword',
    match_only_text: 'text',
  }
  // The pipeline of OpenSearch adds versions such as `131.0.`, which would be a date and refuse all others.
  expect(mapping).toHaveProperty('date_detection', false)
  for (const [name, type] of types) {
    const [expected] = published.get(name) ?? []
    if (expected === undefined) expect(name).toMatch(/^bunny\.shield\./)
    else expect(type, name).toBe(inPlace[expected] ?? expected)
  }
})

test('no text of a client, however long, is refused: what holds all texts is not indexed', () => {
  for (const name of ['labels', 'log', 'other'])
    expect(mapping).toHaveProperty(`properties.bunny.properties.shield.properties.${name}`, {
      type: 'object',
      enabled: false,
    })
  // Lucene takes no term of more than 32,766 bytes, three for each unit of UTF-16 at most.
  for (const [name, field] of fieldsIn(mapping)) {
    if (field.type !== 'keyword' || field.doc_values === false) continue
    expect(field.ignore_above, name).toBeLessThan(32_766 / 3)
  }
})

interface Rule {
  readonly title: string
  readonly id: string
  readonly name?: string
  readonly level: string
  readonly logsource?: { readonly product: string; readonly category: string }
  readonly detection?: Readonly<Record<string, unknown>> & { readonly condition: string }
  readonly correlation?: { readonly rules: readonly string[]; readonly 'group-by': readonly string[] }
}

const folder = join(projectFolder, 'config/sigma')
const rules = readdirSync(folder).flatMap((name) =>
  parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document) => document.toJS() as Rule),
)
/** The fields that a rule looks at, without modifiers such as `|contains`. */
function fieldsOf({ detection = { condition: '' }, correlation }: Rule): string[] {
  const { condition, ...searches } = detection
  expect(condition).toBeTypeOf('string')
  const named = Object.values(searches).flatMap((search) => Object.keys(search as object))
  return [...named.map((field) => field.split('|')[0]!), ...(correlation?.['group-by'] ?? [])]
}

test('each rule has a unique id, a level, and a source or rules to correlate', () => {
  expect(rules.length).toBeGreaterThanOrEqual(5)
  expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length)
  const names = rules.flatMap(({ name }) => name ?? [])
  for (const { id, title, level, logsource, correlation } of rules) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    expect(title).toMatch(/^Bunny Shield: .{10,}/)
    expect(['informational', 'low', 'medium', 'high', 'critical']).toContain(level)
    if (correlation === undefined) expect(logsource).toEqual({ product: 'bunny_shield', category: 'waf' })
    for (const rule of correlation?.rules ?? []) expect(names).toContain(rule)
  }
})

const byDefault = written()

test.each(rules)('$title uses fields that the format ecs writes', (rule) => {
  const fields = fieldsOf(rule)
  expect(fields.length).toBeGreaterThan(0)
  expect(byDefault).toEqual(expect.arrayContaining(fields))
})
