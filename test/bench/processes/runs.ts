import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BareTask } from './bare-process.ts'
import { runChild, startChild } from './child.ts'
import type { ServerTask, SimulatorTask } from './server-process.ts'
import type { ShipTask } from './ship-process.ts'
import type { Usage } from './usage.ts'

/** One run of one process over all the events. */
export interface Run extends Usage {
  /** Of all sinks together. */
  readonly events: number
  /** To the API. */
  readonly requests: number
  readonly peakBytes: number
}

export function withSimulator<T>(options: SimulatorTask, work: (url: string) => Promise<T>): Promise<T> {
  return withServer(options, work)
}

/** In a process of its own. */
export async function withServer<T>(task: ServerTask, work: (url: string) => Promise<T>): Promise<T> {
  const server = startChild<{ url: string }>('./server-process.ts', task)
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

export function runBare(task: Omit<BareTask, 'path'>): Promise<Run> {
  return withFolder((folder) =>
    runChild<Run>('./bare-process.ts', { ...task, path: join(folder, 'events.ndjson') }),
  )
}

/** Ships in a folder of its own, which holds the state; relative paths of the sinks begin there. */
export function runShip(
  task: Omit<ShipTask, 'folder'>,
  look: (folder: string) => void = () => undefined,
): Promise<Run> {
  return withFolder(async (folder) => {
    const run = await runChild<Run>('./ship-process.ts', { ...task, folder } satisfies ShipTask)
    look(folder)
    return run
  })
}

/** The ids of so many zones. */
export function zonesOf(count: number): number[] {
  return Array.from({ length: count }, (_, index) => 101 + index)
}

/** A run that did less than it was asked for says nothing about speed. */
export function assertWhole({ events }: Run, expected: number, what: string): void {
  if (events !== expected) throw new Error(`${what} shipped ${events} of ${expected} events`)
}
