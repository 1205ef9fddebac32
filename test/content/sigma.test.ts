import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { createEcsFormat } from '../../src/formats/ecs.ts'
import { shapes } from '../formats/shapes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { leaves } from './leaves.ts'

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
const ecs = createEcsFormat()
const written = new Set(
  shapes
    .filter(([, { time }]) => time !== undefined)
    .flatMap(([, event]) => leaves(JSON.parse(ecs.encode(event))).map(([name]) => name)),
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

test.each(rules)('$title uses fields that the format ecs writes', (rule) => {
  const fields = fieldsOf(rule)
  expect(fields.length).toBeGreaterThan(0)
  expect(fields.filter((field) => !written.has(field))).toEqual([])
})
