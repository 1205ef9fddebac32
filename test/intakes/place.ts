import { expect } from 'vitest'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import { readableDays, workplace, zones, type Settings, type Workplace } from '../e2e/workplace.ts'
import { waitFor } from '../setup/wait-for.ts'
import type { Intake, SinkSettings } from './intake.ts'

export const perDay = 300
let seed = 1

/** A shipper for this sink, and entries that no other place has. */
export async function placeFor(
  sink: SinkSettings,
  options: SimulatorOptions = {},
  settings: Settings = {},
): Promise<Workplace> {
  const place = await workplace({ days: perDay, pageSize: 100, order: 'unordered', seed: ++seed, ...options })
  reconfigure(place, sink, settings)
  return place
}

export function reconfigure(place: Workplace, sink: SinkSettings, settings: Settings = {}): void {
  const batch = sink['type'] === 'http' ? { batch: { maxEvents: 60 } } : {}
  place.configure({ sinks: [{ name: 'siem', ...batch, ...sink }], ...settings })
}

/** Of all zones and days. */
export function idsOf({ simulator }: Workplace): string[] {
  return zones.flatMap((zone) =>
    readableDays().flatMap((day) => simulator.entries(zone, day).map(({ logId }) => logId)),
  )
}

export async function expectShipped(place: Workplace): Promise<void> {
  const { code, stderr } = await place.once()
  expect(code, stderr).toBe(0)
}

/** Intakes show an event some time after they acknowledged it. */
export async function expectStored(
  { stored }: Intake,
  expected: readonly string[],
  { once }: { readonly once: boolean },
): Promise<void> {
  const found = await waitFor(
    async () => {
      const ids = await stored()
      return new Set(ids).size >= expected.length ? ids : false
    },
    { everyMs: 500, what: () => `all of ${expected.length} events` },
  )
  const ids = new Set(found)
  expect(expected.filter((id) => !ids.has(id))).toEqual([])
  expect(ids.size).toBe(expected.length)
  if (once) expect(found).toHaveLength(expected.length)
}

export interface DeadLetter {
  readonly id: string
  readonly reason: string
  readonly answer: string
}

export async function deadLettersOf(place: Workplace): Promise<readonly DeadLetter[]> {
  const { stdout } = await place.ended(['dead-letters', 'list', '--json'])
  return (JSON.parse(stdout) as { deadLetters: DeadLetter[] }).deadLetters
}
