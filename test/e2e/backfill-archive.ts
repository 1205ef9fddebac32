import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { dayOf, daysFrom, shiftDay, type Day } from '../../src/domain/day.ts'
import { told } from '../tasks/backfill/backfilling.ts'
import { partsBelow, textOf } from './shipped.ts'
import { workplace, zones, type Ended, type Settings, type Workplace } from './workplace.ts'

export const today = dayOf(Date.now())
/** Days that were shipped while the API had them, and that it has no more. */
export const days = daysFrom(shiftDay(today, -8), shiftDay(today, -7)) as [Day, Day]
export const perDay = 300
export const whole = zones.length * days.length * perDay

interface Archive {
  readonly place: Workplace
  readonly copy: string
  ship(...more: readonly string[]): Promise<Ended>
}

/** A file sink with days of long ago, one of its parts compressed, beside a second one without any. */
export async function archived(changes: Settings = {}): Promise<Archive> {
  const counts = Object.fromEntries(days.map((day) => [day, perDay]))
  const place = await workplace({ days: counts, readableDays: 9, pageSize: 50 }, changes)
  const archive = { name: 'archive', type: 'file', path: place.events, rotate: { maxBytes: 60_000 } }
  place.configure({ sinks: [archive] })
  const first = await told(place, 'backfill', '--from', days[0], '--to', days[1])
  expect(first.code, first.stderr).toBe(0)
  const parts = partsBelow(place.events)
  expect(parts.length).toBeGreaterThan(6)
  compressPart(place, parts[0]!)
  place.simulator.set({ readableDays: 3 })
  const copy = join(place.folder, 'copy')
  place.configure({
    sinks: [archive, { name: 'copy', type: 'file', path: copy, rotate: { maxBytes: 40_000 } }],
  })
  return { place, copy, ship: (...given) => told(place, ...command, ...given) }
}

export const command = ['backfill', '--source', 'archive', '--from', days[0], '--to', days[1]]

function compressPart({ events }: Workplace, part: string): void {
  writeFileSync(join(events, `${part}.gz`), gzipSync(readFileSync(join(events, part))))
  rmSync(join(events, part))
}

/** Every line that readers see, whatever form the parts have; in no order. */
export function readLines(path: string): string[] {
  const lines = partsBelow(path).flatMap((part) => textOf(join(path, part)).trimEnd().split('\n'))
  return lines.sort()
}
