import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event } from '../../src/domain/event/event.ts'
import { exactJson } from '../../src/domain/text/decode.ts'
import type { Json } from '../../src/domain/text/json.ts'
import { formats } from '../../src/formats/registry.ts'
import { eventOfLine } from '../../src/shield/entries/to-event.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import type { WireEntry } from '../../src/simulator/simulator.ts'
import { partsBelow } from '../e2e/shipped.ts'
import { readableDays, workplace, zones, type Settings, type Workplace } from '../e2e/workplace.ts'
import { hostileEntries } from '../fixtures/hostile-entries.ts'
import { oddEntries } from '../fixtures/odd-entries.ts'
import type { SinkSettings } from './intake.ts'

const ordinaryPerDay = 100

/** A shipper for this sink, of ordinary entries and of every hostile and odd one; files keep what it ships. */
export async function placeOfEveryKind(sink: SinkSettings, settings: Settings = {}): Promise<Workplace> {
  const place = await workplace({ days: ordinaryPerDay, pageSize: 100 })
  addEveryKind(place)
  const siem = { name: 'siem', ...sink }
  const copy = { name: 'copy', type: 'file', path: place.events }
  place.configure({ sinks: [siem, copy], ...settings })
  return place
}

/** The API lists every hostile and odd entry, too. */
export function addEveryKind({ simulator }: Pick<Workplace, 'simulator'>): void {
  simulator.append(zones[0], readableDays()[2], [...hostile(), ...odd()])
}

/** Two hours old: some destinations drop what is older than a day. */
const atSeconds = Math.floor(Date.now() / 1000) - 7_200

/** Each has its name as id. */
function hostile(): WireEntry[] {
  return Object.entries(hostileEntries).map(
    ([name, entry], index) =>
      ({ ...entry, logId: name, timestamp: atSeconds * 1000 + index }) as unknown as WireEntry,
  )
}

function odd(): WireEntry[] {
  const day = new Date(atSeconds * 1000).toISOString().slice(0, 10)
  const texts = Object.values(oddEntries).map((text) =>
    text.replaceAll(/1795893600|1795894059/g, String(atSeconds)).replaceAll('2026-11-28', day),
  )
  return texts.map((text) => (exactJson(`[${text}]`) as Json[])[0] as unknown as WireEntry)
}

const asShipped = createRedactor('off')

export interface Shipped {
  readonly event: Event
  /** Of the listing that had it. */
  readonly day: string
}

/** All events that the place has shipped into its files. */
export function shippedBy(place: Workplace): Shipped[] {
  return partsBelow(place.events).flatMap((part) => {
    const [, zone, day = ''] = /shield_zone=(\d+)\/day=([\d-]+)/.exec(part)!
    const lines = readFileSync(join(place.events, part), 'utf8').split('\n').slice(0, -1)
    const eventIn = (line: string) =>
      eventOfLine(formats.native().readBack!(line)!, { id: Number(zone), name: zone! }, asShipped)
    return lines.map((line) => ({ event: eventIn(line), day }))
  })
}

export const eventsOf = (place: Workplace) => shippedBy(place).map(({ event }) => event)
