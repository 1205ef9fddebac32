import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Role } from '../../src/ports/process.ts'
import { Daemon } from '../../src/process/daemon.ts'
import { createLoggedRuntime } from '../../src/assemble/logged-runtime.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { load } from '../config/loading.ts'
import { temporaryFolder } from '../setup/temp.ts'

type Settings = Readonly<Record<string, unknown>>

interface Setup {
  readonly folder?: string
  readonly role?: Role
  readonly serve?: boolean
}

/** A daemon within this process, with a store and a file sink of its own, until the test ends; it is not open yet. */
export function daemonWith(
  settings: Settings = {},
  { folder = temporaryFolder(), role = 'all', serve = false }: Setup = {},
) {
  const told: InternalEvent[] = []
  const events = join(folder, 'events')
  const loadedWith = (more: Settings = {}) => {
    const all = {
      // Nobody listens there.
      api: { baseUrl: 'http://127.0.0.1:9', accessKey: 'key' },
      zones: [101],
      sinks: [{ name: 'archive', type: 'file', path: events }],
      log: { level: 'silent' },
      ...settings,
      ...more,
    }
    return load({ yaml: JSON.stringify(all), cwd: folder })
  }
  const loaded = loadedWith()
  const log: string[] = []
  const runtime = createLoggedRuntime(loaded.config, {
    watch: (internalEvent) => told.push(internalEvent),
    log: { write: (line) => void log.push(line) },
  })
  const logged = () => log.map((line) => JSON.parse(line) as Record<string, unknown>)
  const daemon = new Daemon(loaded, { runtime, serve, role, sinkGone: () => undefined })
  onTestFinished(() => daemon.stop())
  const names = () => told.map(({ name }) => name)
  return { daemon, loaded, loadedWith, runtime, events, told, names, logged }
}

/** An API until the test ends, and the settings that read it. */
export async function apiOf(options: SimulatorOptions = {}) {
  const simulator = await startSimulator({ zones: [101, 102], accessKey: 'key', ...options })
  onTestFinished(() => simulator.close())
  return { simulator, api: { baseUrl: simulator.url, accessKey: 'key' } }
}
