import { createReadStream, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../../clock.ts'
import { dayOf } from '../../domain/day.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { counted } from '../terminal/progress-text.ts'

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
  /** Events of the API that are not in the files. */
  readonly unread: number
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
  let unread = 0
  for (const zone of zones) {
    for (const day of days) {
      for (const { logId } of simulator.entries(zone, day)) {
        if (!shipped.has(`${zone} ${day} ${logId}`)) unread++
      }
    }
  }
  return { shipped: shipped.size, repeated: lines - shipped.size, unread }
}

export function comparisonLine({ shipped, repeated, unread }: Compared): string {
  const once = repeated === 0 ? 'each once' : `${counted(repeated, 'line')} too many`
  const rest = unread === 0 ? 'none is missing' : `${unread} came too late for the last poll`
  return `files against API: ${counted(shipped, 'event')}, ${once}; ${rest}`
}

function idOf(line: string): string {
  const event: unknown = JSON.parse(line)
  return typeof event === 'object' && event !== null && 'id' in event ? String(event.id) : line
}
