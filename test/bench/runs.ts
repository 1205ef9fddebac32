import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dayMs, dayOf, type Day } from '../../src/domain/day.ts'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import type { BareTask } from './bare-process.ts'
import { runChild, startChild, type NodeFlags } from './child.ts'
import type { ShipTask } from './ship-process.ts'
import type { Usage } from './usage.ts'

/** One run of one process over all the events. */
export interface Run extends Usage {
  readonly events: number
  readonly peakBytes: number
}

export function eventsPerSecond({ events, seconds }: Run): number {
  return events / seconds
}

/** A whole day, so that its events lie as far apart as they do for users. */
export function yesterday(): Day {
  return dayOf(Date.now() - dayMs)
}

export async function withSimulator<T>(
  options: SimulatorOptions,
  work: (url: string) => Promise<T>,
): Promise<T> {
  return withServer('./simulator-process.ts', options, work)
}

export async function withReceiver<T>(work: (url: string) => Promise<T>): Promise<T> {
  return withServer('./receiver-process.ts', null, work)
}

async function withServer<T>(file: string, task: unknown, work: (url: string) => Promise<T>): Promise<T> {
  const server = startChild<{ url: string }>(file, task)
  try {
    const { url } = await server.answer
    return await work(url)
  } finally {
    await server.end()
  }
}

export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'shieldlog-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
}

export function runBare(task: Omit<BareTask, 'path'>, nodeFlags: NodeFlags = []): Promise<Run> {
  return withFolder((folder) =>
    runChild<Run>('./bare-process.ts', { ...task, path: join(folder, 'events.ndjson') }, nodeFlags),
  )
}

/** Ships into files below the run's own folder. */
export function runToFile(
  task: Omit<ShipTask, 'folder' | 'sink'>,
  nodeFlags: NodeFlags = [],
  look: (folder: string) => void = () => undefined,
): Promise<Run> {
  return withFolder(async (folder) => {
    const sink = { name: 'archive', type: 'file', path: join(folder, 'events') }
    const run = await runChild<Run>('./ship-process.ts', { ...task, folder, sink }, nodeFlags)
    look(folder)
    return run
  })
}

export function runToHttp(
  task: Omit<ShipTask, 'folder' | 'sink'>,
  receiverUrl: string,
  nodeFlags: NodeFlags = [],
): Promise<Run> {
  const sink = { name: 'siem', type: 'http', preset: 'ndjson', url: receiverUrl, compression: 'gzip' }
  return withFolder((folder) => runChild<Run>('./ship-process.ts', { ...task, folder, sink }, nodeFlags))
}

/** A run that did less than it was asked for says nothing about speed. */
export function assertWhole({ events }: Run, expected: number, what: string): void {
  if (events !== expected) throw new Error(`${what} shipped ${events} of ${expected} events`)
}
