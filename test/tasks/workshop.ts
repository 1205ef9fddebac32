import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Io } from '../../src/terminal/io.ts'
import { execute } from '../../src/program/main.ts'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { startCli } from '../setup/processes.ts'
import { temporaryFolder } from '../setup/temp.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export type Workshop = ReturnType<typeof openWorkshop>

/** A folder with a configuration file, in which commands run as a person would run them. */
export function openWorkshop(config: Readonly<Record<string, unknown>> = {}) {
  const folder = temporaryFolder()
  /** Writes the configuration anew. JSON is YAML too. */
  const configure = (changes: Readonly<Record<string, unknown>>) =>
    writeFileSync(
      join(folder, 'shieldlog.yaml'),
      JSON.stringify({ ...standard(folder), ...config, ...changes }),
      { mode: 0o600 },
    )
  const start = (args: readonly string[]) =>
    startCli(args, { cwd: folder, env: { SHIELDLOG_CONFIG: undefined, NO_PROXY: '127.0.0.1' } })
  configure({})
  return {
    folder,
    configure,
    start,
    async run(...args: readonly string[]): Promise<Ended> {
      const child = start(args)
      const { code } = await child.exited
      return { code, stdout: child.stdout(), stderr: child.stderr() }
    },
    /** The same within this process, for what needs no process of its own. Relative paths do not lead into the folder. */
    execute: (...args: readonly string[]) => executeWith(join(folder, 'shieldlog.yaml'), args),
  }
}

/** Runs a command within this process. */
export async function executeWith(
  configFile: string,
  args: readonly string[],
  more: Partial<Io> = {},
): Promise<Ended> {
  let [stdout, stderr] = ['', '']
  const code = await execute([...args, '-c', configFile], {
    stdout: { write: (text) => void (stdout += text) },
    stderr: { write: (text) => void (stderr += text) },
    signal: new AbortController().signal,
    exit: (exitCode) => {
      throw new Error(`ended at once with ${exitCode}`)
    },
    onHangup: () => () => undefined,
    ...more,
  })
  return { code, stdout, stderr }
}

export const accessKey = 'the-key-of-the-test'

const standard = (folder: string) => ({
  // Nobody listens there.
  api: { baseUrl: 'http://127.0.0.1:9', accessKey },
  zones: [{ id: 101, name: 'shop' }, 102],
  state: `sqlite:${join(folder, 'var', 'shieldlog.db')}`,
  sinks: [{ name: 'archive', type: 'file', path: join(folder, 'events') }],
  poll: { everySeconds: 1 },
  server: { port: 0 },
  log: { level: 'error' },
})

/** The same with an API to ask. */
export async function openWorkshopWithApi(
  options: SimulatorOptions = {},
  config: Readonly<Record<string, unknown>> = {},
) {
  const simulator = await startSimulator({ zones: [101, 102], accessKey, ...options })
  onTestFinished(() => simulator.close())
  const workshop = openWorkshop({ api: { baseUrl: simulator.url, accessKey }, ...config })
  return { ...workshop, simulator }
}
