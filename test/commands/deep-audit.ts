import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { dayOf, shiftDay } from '../../src/domain/day.ts'
import { readParts } from '../sinks/file/read-parts.ts'
import { openWorkshopWithApi, type Ended, type Workshop } from './workshop.ts'
import type { FileAudit, StreamAudit } from '../../src/domain/audit-report.ts'

export const yesterday = shiftDay(dayOf(Date.now()), -1)
export const events = 40

interface Report {
  readonly isEqual: boolean
  readonly missing: number
  readonly extra: number
  readonly streams: readonly StreamAudit[]
  readonly files: readonly FileAudit[]
}

export type Shop = Awaited<ReturnType<typeof openWorkshopWithApi>>

export const none = { unreadable: 0, unknown: 0, doubled: 0, torn: 0, damaged: 0 }

export async function shipped(config: Readonly<Record<string, unknown>> = {}): Promise<Shop> {
  const workshop = await openWorkshopWithApi({ days: events, pageSize: 10 }, { zones: [101], ...config })
  expect((await workshop.execute('run', '--once')).code).toBe(0)
  return workshop
}

const folderOf = ({ folder }: Workshop) => join(folder, 'events', 'zone=101', `day=${yesterday}`)
export const partsOf = (workshop: Workshop) => readdirSync(folderOf(workshop)).sort()
export const pathOf = (workshop: Workshop, index = 0) => join(folderOf(workshop), partsOf(workshop)[index]!)
export const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)
export const idOf = (line: string | undefined) => (JSON.parse(line ?? '{}') as { id: string }).id

/** Changes the lines of a part; with the same length where the store would notice. */
export function edit(path: string, change: (lines: string[]) => readonly string[]): void {
  writeFileSync(path, `${change(linesOf(path)).join('\n')}\n`)
}

export async function deep(
  workshop: Workshop,
  ...more: string[]
): Promise<Ended & { report: Report; file: FileAudit }> {
  const ended = await workshop.execute(
    'audit',
    '--zone',
    '101',
    '--day',
    yesterday,
    '--deep',
    '--json',
    ...more,
  )
  const report = JSON.parse(ended.stdout || '{}') as Report
  return { ...ended, report, file: report.files?.[0] as FileAudit }
}

/** Each event that the API has stands in one line. */
export async function expectWhole(workshop: Shop): Promise<void> {
  const ids: string[] = []
  for await (const line of readParts(join(workshop.folder, 'events'), 101, yesterday)) ids.push(idOf(line))
  const wanted = workshop.simulator.entries(101, yesterday).map(({ logId }) => logId)
  expect(ids.sort()).toEqual(wanted.sort())
}
