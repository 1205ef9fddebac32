import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'

/** One line of a file sink in native format, with what its folder says. */
export interface Line {
  readonly id: string
  readonly time: string
  readonly zone: { readonly id: number }
  readonly log: Readonly<Record<string, unknown>>
}

export type Comparison = ReturnType<typeof compare>

/** Nothing lost, nothing twice. */
export function exactly(lines: number): Comparison {
  return { lines, missing: 0, repeated: 0, strange: 0, examples: [] }
}

/**
 * Every line below a file sink's path by `zone/day/id`, in no order. Throws for a line that is no JSON, and for a torn
 * one unless a write is under way.
 */
export function linesBelow(
  path: string,
  underWay: 'at rest' | 'under way' = 'at rest',
): { readonly key: string; readonly line: Line }[] {
  return partsBelow(path).flatMap((part) => {
    const [, zone, day] = /shield_zone=(\d+)\/day=([\d-]+)\//.exec(part) ?? []
    const text = textOf(join(path, part))
    if (underWay === 'at rest' && text !== '' && !text.endsWith('\n'))
      throw new Error(`${part} ends within a line`)
    return text
      .split('\n')
      .slice(0, -1)
      .map((each) => {
        const line = JSON.parse(each) as Line
        if (String(line.zone.id) !== zone) throw new Error(`${part} holds an event of zone ${line.zone.id}`)
        return { key: `${zone}/${day}/${line.id}`, line }
      })
  })
}

/** How many whole lines there are, of these days or of all: what a wait may ask often. */
export function linesIn(path: string, days: readonly string[] = ['']): number {
  const parts = partsBelow(path).filter((part) => days.some((day) => part.includes(`day=${day}`)))
  return parts.reduce((sum, part) => sum + textOf(join(path, part)).split('\n').length - 1, 0)
}

/** Of a part, which may have been compressed since it was listed. */
export function textOf(listed: string): string {
  const part = existsSync(listed) ? listed : `${listed}.gz`
  const bytes = readFileSync(part)
  return (part.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
}

export function partsBelow(path: string): string[] {
  if (!existsSync(path)) return []
  const all = globSync('shield_zone=*/day=*/*.ndjson*', { cwd: path }).sort()
  return all.filter((part) => !(part.endsWith('.ndjson') && all.includes(`${part}.gz`)))
}

/** The keys of everything that the API has of these zones and days. */
export function keysOf(simulator: Simulator, zones: readonly number[], days: readonly string[]): string[] {
  return zones.flatMap((zone) =>
    days.flatMap((day) => simulator.entries(zone, day).map(({ logId }) => `${zone}/${day}/${logId}`)),
  )
}

/** How many they are. */
export function countOf(simulator: Simulator, zones: readonly number[], days: readonly string[]): number {
  return zones.flatMap((zone) => days.map((day) => simulator.count(zone, day))).reduce((a, b) => a + b, 0)
}

/** What stands in files, held against what the API has. Lists are cut; counts are not. */
export function compare(shipped: readonly string[], expected: readonly string[]) {
  const times = new Map<string, number>()
  for (const key of shipped) times.set(key, (times.get(key) ?? 0) + 1)
  const wanted = new Set(expected)
  const missing = expected.filter((key) => !times.has(key))
  const repeated = [...times].filter(([, count]) => count > 1).map(([key, count]) => `${key} ×${count}`)
  const strange = [...times.keys()].filter((key) => !wanted.has(key))
  const examples = [
    ...missing.slice(0, 3).map((key) => `missing ${key}`),
    ...repeated.slice(0, 3).map((key) => `repeated ${key}`),
    ...strange.slice(0, 3).map((key) => `strange ${key}`),
  ]
  return {
    lines: shipped.length,
    missing: missing.length,
    repeated: repeated.length,
    strange: strange.length,
    examples,
  }
}

/** Files below `path` against the API. */
export function compareFiles(
  path: string,
  simulator: Simulator,
  zones: readonly number[],
  days: readonly string[],
) {
  const shipped = linesBelow(path).map(({ key }) => key)
  return compare(shipped, keysOf(simulator, zones, days))
}

/** Each entry that the API has of these stands in one line. */
export function expectEachOnce(...of: Parameters<typeof compareFiles>): void {
  const [, simulator, zones, days] = of
  expect(compareFiles(...of)).toEqual(exactly(countOf(simulator, zones, days)))
}
