import { createReadStream, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../../clock.ts'
import { dayOf } from '../../domain/day.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { counted } from '../terminal/number.ts'

const parts = 'zone=*/day=*/*.ndjson'

/** The first line below a file sink's path; undefined where there is none. */
export function firstLineBelow(path: string): string | undefined {
  for (const part of globSync(parts, { cwd: path }).toSorted()) {
    const [line = '', rest] = readFileSync(join(path, part), 'utf8').split('\n', 2)
    if (rest !== undefined && line !== '') return line
  }
  return undefined
}

/** A line in native format, one field a row. */
export function sampleLines(line: string): string[] {
  const event: unknown = JSON.parse(line)
  if (typeof event !== 'object' || event === null) return [line]
  return Object.entries(event)
    .filter(([name]) => name !== 'labels' && name !== 'log')
    .map(([name, value]) => `${name.padEnd(8)} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
}

export interface Compared {
  /** Different events in the files. */
  readonly shipped: number
  /** Lines that repeat an event of the files. */
  readonly repeated: number
  /** Events of the API that are not in the files although a later one of their day is. */
  readonly missing: number
  /** Events that the API listed after the last one in the files: the next poll would ship them. */
  readonly newer: number
}

/** Compares every line below the path with all entries of the simulator. */
export async function compareWithApi(
  path: string,
  simulator: Simulator,
  zones: readonly number[],
): Promise<Compared> {
  const shipped = new Set<string>()
  const days = new Set<string>([dayOf(systemClock.now())])
  let lines = 0
  for (const part of globSync(parts, { cwd: path })) {
    const [, zone = '', day = ''] = /zone=(\d+)\/day=([\d-]+)\//.exec(part.replaceAll('\\', '/')) ?? []
    days.add(day)
    for await (const line of createInterface(createReadStream(join(path, part)))) {
      lines++
      shipped.add(`${zone} ${day} ${idOf(line)}`)
    }
  }
  let missing = 0
  let newer = 0
  for (const zone of zones) {
    for (const day of days) {
      const isShipped = simulator
        .entries(zone, day)
        .map(({ logId }) => shipped.has(`${zone} ${day} ${logId}`))
      const read = isShipped.lastIndexOf(true) + 1
      newer += isShipped.length - read
      missing += isShipped.slice(0, read).filter((is) => !is).length
    }
  }
  return { shipped: shipped.size, repeated: lines - shipped.size, missing, newer }
}

export function comparisonLine({ shipped, repeated, missing, newer }: Compared): string {
  const isWell = missing === 0 && repeated === 0
  const rest = newer === 0 ? '' : `; the next poll would ship ${newer} newer`
  return `${isWell ? 'verified' : 'DIFFERENT FROM THE API'}: ${counted(shipped, 'event')} in the files, ${missing === 0 ? 'none' : missing} missing, ${repeated === 0 ? 'none' : repeated} twice${rest}`
}

function idOf(line: string): string {
  const event: unknown = JSON.parse(line)
  return typeof event === 'object' && event !== null && 'id' in event ? String(event.id) : line
}
