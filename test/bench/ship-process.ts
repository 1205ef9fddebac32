import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { boundHeap } from '../../src/commands/process/bound-heap.ts'
import { keepCompiled } from '../../src/commands/process/keep-compiled.ts'
import { answer, taskOf } from './child.ts'
import { measured, peakBytes } from './usage.ts'
import type { Run } from './runs.ts'

export interface ShipTask {
  /** Of the simulator. */
  readonly url: string
  readonly zones: readonly number[]
  /** Today counts as one. */
  readonly days: number
  /** State, and whatever the sink writes. */
  readonly folder: string
  readonly sink: Readonly<Record<string, unknown>>
}

// As the program itself does, before the rest of it is loaded.
boundHeap()
keepCompiled()
const { Daemon } = await import('../../src/assemble/daemon/daemon.ts')
const { createGround } = await import('../../src/assemble/ground.ts')
const { loadConfig } = await import('../../src/config/load/load.ts')

/** All that `run --once` does, with every setting at its default but where things are. */
const { url, zones, days, folder, sink } = taskOf() as ShipTask
const overrides = {
  'api.baseUrl': url,
  'api.accessKey': 'bench',
  'poll.firstRunDays': String(days),
  'log.level': 'error',
  state: `sqlite:${join(folder, 'shieldlog.db')}`,
  zones: JSON.stringify(zones),
  sinks: JSON.stringify([sink]),
}
const loaded = loadConfig({ argv: { overrides }, env: {}, cwd: folder })
const ground = createGround(loaded.config)
const signal = new AbortController().signal
const daemon = new Daemon(loaded, { ground, serve: false, role: 'all', sinkGone: () => undefined })
await daemon.open(signal)
const usage = await measured(async () => {
  const givenUp = await daemon.engine().drain(randomUUID(), signal)
  if (givenUp.length > 0) throw new Error(`given up: ${givenUp[0]?.reason}`)
})
let events = 0
for (const route of (await daemon.engine().status()).routes) {
  for (const { delivered } of route.days) events += delivered
}
await daemon.stop()
await answer({ ...usage, events, peakBytes: peakBytes() } satisfies Run)
process.disconnect()
