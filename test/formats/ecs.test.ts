import { expect, it } from 'vitest'
import { createEcsFormat } from '../../src/formats/ecs.ts'
import { leaves } from '../content/leaves.ts'
import { json, table } from './authorities.ts'
import { long, shapes } from './shapes.ts'

const ecs = createEcsFormat()
const fields = table('ecs-fields.tsv')
const allowed = json('ecs-allowed.json') as Record<string, Record<string, string[]>>
const timed = shapes.filter(([, { time }]) => time !== undefined)

function fits(type: string, value: unknown): boolean {
  if (type === 'long') return Number.isSafeInteger(value)
  if (type === 'date') return !Number.isNaN(Date.parse(String(value)))
  return typeof value === 'string' && value !== ''
}

it.each([...timed, ['values of 64 kB', long] as const])(
  'uses only published fields with their types, except bunny.shield: %s',
  (_, event) => {
    for (const [name, value] of leaves(JSON.parse(ecs.encode(event)))) {
      if (name.startsWith('bunny.shield.')) continue
      const [type = 'none', array] = fields.get(name) ?? []
      expect(Array.isArray(value), name).toBe(array === 'array')
      for (const one of [value].flat()) expect(fits(type, one), `${name}: ${type}`).toBe(true)
    }
  },
)

it.each(timed)('uses allowed categories, and types that a category allows: %s', (_, event) => {
  const { event: about } = JSON.parse(ecs.encode(event)) as { event: Record<string, string & string[]> }
  expect(Object.keys(allowed['event.kind']!)).toContain(about['kind'])
  const expected = about['category']!.flatMap((category) => allowed['event.category']![category]!)
  for (const type of about['type']!) {
    expect(Object.keys(allowed['event.type']!)).toContain(type)
    expect(expected).toContain(type)
  }
})
