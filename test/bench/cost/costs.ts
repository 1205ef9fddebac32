import { readFileSync, writeFileSync } from 'node:fs'
import { formats, type FormatName } from '../../../src/formats/registry.ts'
import { presets, createPreset } from '../../../src/sinks/http/presets/registry.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { gzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { loadConfig } from '../../../src/config/load.ts'
import type { Event } from '../../../src/domain/event/event.ts'
import type { Json } from '../../../src/domain/text/json.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { toEvent } from '../../../src/shield/entries/to-event.ts'
import { entryJson } from '../../../src/simulator/entries/entry.ts'
import { cutBatches, packBody } from '../../../src/sinks/http/bodies.ts'
import type { HttpSinkConfig } from '../../../src/sinks/http/config.ts'

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

/** Bytes an event. */
interface Cost {
  readonly plain: number
  readonly compressed: number
}

type PresetName = (typeof presets)[number]['name']

/** Of an entry on the wire. */
export const entryBytes = 525

/** Events of one zone as the simulator makes them, ten a minute. The same at each call. */
export function sampleEvents(events = 3_000): Event[] {
  const beganMs = Date.parse('2026-01-15T12:00:00.000Z')
  const redactor = createRedactor('off')
  return Array.from({ length: events }, (_, seq) => {
    const place = { zone: 101, dayNumber: 1, seq }
    const text = entryJson({ seed: 1, entryBytes }, place, beganMs + seq * 6_000)
    return toEvent(JSON.parse(text) as Json, { id: 101, name: 'shop' }, redactor)
  })
}

/** Lines of a file, and the same file with gzip, as a file sink compresses it. */
async function costOfFormat(name: FormatName, events: readonly Event[]): Promise<Cost> {
  const format = formats[name]()
  const text = Buffer.from(events.map((event) => `${format.encode(event)}\n`).join(''))
  return { plain: text.length / events.length, compressed: gzipSync(text).length / events.length }
}

/** Bodies as the preset makes them with its own defaults, before and after its default compression. */
async function costOfPreset(name: PresetName, events: readonly Event[]): Promise<Cost> {
  const settings = settingsOf(name)
  const format = formats[settings.format]()
  const preset = createPreset(settings, format)
  const nowMs = Date.parse('2026-01-15T18:00:00.000Z')
  let [plain, compressed] = [0, 0]
  for (const { pieces } of cutBatches(
    events,
    { format, preset, limits: settings.batch, nowMs },
    { refusals: [], refuse: () => undefined },
  )) {
    plain += (await packBody(pieces, preset, 'none')).bytes.length
    compressed += (await packBody(pieces, preset, settings.compression)).bytes.length
  }
  return { plain: plain / events.length, compressed: compressed / events.length }
}

/** The settings of the preset's example. */
function settingsOf(name: PresetName): HttpSinkConfig {
  const text = readFileSync(`${projectFolder}config/examples/http-${name}.yaml`, 'utf8')
  const { sinks } = parse(text.replaceAll(/\$\{\w+\}/g, 'bench')) as { sinks: Record<string, unknown>[] }
  const { shape } = presets.find((preset) => preset.name === name)!.schema
  const addresses = Object.keys(shape).filter((setting) => /url$/i.test(setting))
  const local = Object.fromEntries(addresses.map((setting) => [setting, 'http://127.0.0.1:1']))
  const draft = {
    api: { accessKey: 'bench' },
    zones: [101],
    sinks: [{ ...sinks[0], ...local }],
  }
  const [sink] = loadConfig({ draft, env: {}, cwd: projectFolder }).config.sinks
  if (sink?.type !== 'http') throw new Error(`the example of ${name} has no sink of type http`)
  return sink
}
