import { readFileSync, writeFileSync } from 'node:fs'
import { formats, type FormatName } from '../../../src/formats/registry.ts'
import { presets } from '../../../src/sinks/http/presets/registry.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { costOfFormat, costOfPreset, sampleEvents, type Cost, type PresetName } from './cost.ts'

/** Bytes of an event, whole numbers. */
export interface Costs {
  readonly formats: Readonly<Record<FormatName, Cost>>
  readonly presets: Readonly<Record<PresetName, Cost>>
}

const file = `${projectFolder}docs/reference/cost.json`

/** Zlib gives other bytes on other processors. */
const tolerance = 0.05

/** The costs that the docs show. */
export function readCosts(): Costs {
  return JSON.parse(readFileSync(file, 'utf8')) as Costs
}

export async function measureCosts(): Promise<Costs> {
  const events = sampleEvents()
  const byName = async <Name extends string>(
    names: readonly Name[],
    costOf: (name: Name) => Promise<Cost>,
  ) => {
    const costs = await Promise.all(names.map(async (name) => [name, rounded(await costOf(name))] as const))
    return Object.fromEntries(costs) as Record<Name, Cost>
  }
  return {
    formats: await byName(Object.keys(formats) as FormatName[], (name) => costOfFormat(name, events)),
    presets: await byName(
      presets.map(({ name }) => name),
      (name) => costOfPreset(name, events),
    ),
  }
}

function rounded({ plain, compressed }: Cost): Cost {
  return { plain: Math.round(plain), compressed: Math.round(compressed) }
}

/** Names of the formats and presets whose costs are not those that the docs show. */
export function changedCosts(now: Costs, kept: Costs): string[] {
  const changed = (of: Readonly<Record<string, Cost>>, before: Readonly<Record<string, Cost>>) =>
    [...new Set([...Object.keys(of), ...Object.keys(before)])].filter(
      (name) => !isNear(of[name], before[name]),
    )
  return [...changed(now.formats, kept.formats), ...changed(now.presets, kept.presets)]
}

function isNear(left: Cost | undefined, right: Cost | undefined): boolean {
  if (left === undefined || right === undefined) return false
  return (
    left.plain === right.plain && Math.abs(left.compressed - right.compressed) <= tolerance * right.compressed
  )
}

/** Writes what the docs show anew where it has changed. */
export async function keepCosts(): Promise<void> {
  const now = await measureCosts()
  if (changedCosts(now, readCosts()).length > 0) writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
}
