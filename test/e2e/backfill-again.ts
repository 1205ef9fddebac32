import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { told } from '../commands/backfilling.ts'
import type { TestProcess } from '../setup/processes.ts'
import { partsBelow } from './shipped.ts'
import type { Workplace } from './workplace.ts'

export async function daemon(place: Workplace): Promise<TestProcess> {
  const child = place.start(['run'])
  await child.waitForLine(/"event":"Started"/)
  return child
}

/** Leaves a backfill that ships once more to whoever works on the state; gives its id. */
export async function again(place: Workplace, from: string, to: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await told(
    place,
    'backfill',
    '--from',
    from,
    '--to',
    to,
    '--again',
    ...args,
  )
  expect(code, stderr).toBe(0)
  return stdout.trim()
}

/** Parts that wait for their place, and those that gave way. */
export function hiddenBelow(events: string): { readonly waiting: string[]; readonly replaced: string[] } {
  const below = (name: string) => {
    const path = join(events, '.shieldlog', name)
    return existsSync(path) ? globSync('zone=*/day=*/*.ndjson*', { cwd: path }).sort() : []
  }
  return { waiting: below('again'), replaced: below('replaced') }
}

/** Every line that readers see, in no order. */
export function textBelow(events: string): string[] {
  return partsBelow(events)
    .flatMap((part) => readFileSync(join(events, part), 'utf8').trimEnd().split('\n'))
    .sort()
}
