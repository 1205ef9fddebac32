import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dayOf, daysFrom, shiftDay, type Day } from '../../src/domain/day.ts'
import { startSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { own } from '../setup/leftovers.ts'
import {
  startCli,
  startProgram,
  type Exit,
  type ProcessOptions,
  type TestProcess,
} from '../setup/processes.ts'
import { temporaryFolder } from '../setup/temp.ts'

export const zones = [101, 102] as const
export const accessKey = 'the-right-key'

export type Settings = Readonly<Record<string, unknown>>

export type Workplace = ReturnType<typeof workplaceAt>

export interface Ended extends Exit {
  readonly stdout: string
  readonly stderr: string
}

/** The service without a shipper; closed after the test. */
export async function simulated(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({ zones, accessKey, ...options })
  own({ what: 'simulator', isLeft: () => true, remove: () => simulator.close(), isFault: false })
  return simulator
}

export async function workplace(
  options: SimulatorOptions = {},
  changes: Settings = {},
  api: Settings = {},
): Promise<Workplace> {
  const simulator = await simulated(options)
  return workplaceAt(simulator, changes, { firstPage: options.firstPage ?? 'omit', ...api })
}

/** One shipper's folder with its configuration, beside a simulated API in this process. */
export function workplaceAt(simulator: Simulator, changes: Settings = {}, api: Settings = {}) {
  const folder = temporaryFolder()
  const events = join(folder, 'events')
  const database = join(folder, 'state.db')
  const configFile = join(folder, 'shieldlog.yaml')
  const defaults: Settings = {
    // No answer comes too late because a test's clock runs fast or the machine is slow.
    api: { baseUrl: simulator.url, accessKey, requestTimeoutSeconds: 3_600, ...api },
    zones,
    poll: { everySeconds: 0.5 },
    state: `sqlite:${database}`,
    // Other tests use the usual one at the same time.
    server: { port: 0 },
    sinks: [{ name: 'archive', type: 'file', path: events }],
    log: { format: 'json' },
  }
  /** Writes the configuration: the defaults, each of the top level replaced by what is given. */
  const configure = (next: Settings = {}) =>
    writeFileSync(configFile, JSON.stringify({ ...defaults, ...changes, ...next }))
  configure()
  const start = (args: readonly string[], given: ProcessOptions = {}) =>
    startCli([...args, '-c', configFile], { cwd: folder, ...given })
  const ended = (args: readonly string[], given?: ProcessOptions) => endOf(start(args, given))
  return {
    folder,
    simulator,
    /** Where the file sink of the default configuration writes. */
    events,
    database,
    configFile,
    configure,
    start,
    /** Runs a command to its end. */
    ended,
    once: (given?: ProcessOptions) => ended(['run', '--once'], given),
    /** Starts the tests' own entry, on another clock or with a moment to end itself. */
    entry: (args: readonly string[]) => startProgram('ship', ['-c', configFile, ...args], { cwd: folder }),
  }
}

export async function endOf(child: TestProcess): Promise<Ended> {
  const { code, signal } = await child.exited
  return { code, signal, stdout: child.stdout(), stderr: child.stderr() }
}

/** Today and the two days before, as the simulator sees them now. */
export function readableDays(): [Day, Day, Day] {
  const today = dayOf(Date.now())
  return daysFrom(shiftDay(today, -2), today) as [Day, Day, Day]
}

/** A log line of the process, as JSON; others are left out. */
export function logged(text: string): Readonly<Record<string, unknown>>[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return []
    return [JSON.parse(line) as Readonly<Record<string, unknown>>]
  })
}
