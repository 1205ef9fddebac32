import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { dayOf, shiftDay, startOf } from '../../../src/domain/day.ts'
import { startSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { startNode } from '../../setup/processes.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { ctrlC, startOnTerminal } from '../../setup/terminal.ts'

export interface Scene {
  readonly name: string
  readonly title: string
  readonly description: string
  /** As a person would type it. */
  readonly command: string
  readonly columns: number
  /** What the terminal got. `folder` is empty and belongs to the scene. */
  record(folder: string): Promise<string>
}

const zones = [
  { id: 101, name: 'shop' },
  { id: 102, name: 'blog' },
  { id: 103, name: 'api' },
]
const accessKey = 'simulated'

export const scenes: readonly Scene[] = [
  {
    name: 'demo',
    title: 'shieldlog demo',
    description: 'The demo ships events of a simulated API into files, and verifies that none is missing.',
    command: 'npm run demo',
    columns: 110,
    record: (folder) => typed(folder, 'demo --seconds 12', 110),
  },
  {
    name: 'status-watch',
    title: 'shieldlog status --watch',
    description:
      'Six routes with state, lag, events a second and the lag of the last minutes; one of them fails.',
    command: 'shieldlog status --watch',
    columns: 100,
    record: recordStatus,
  },
  {
    name: 'top',
    title: 'shieldlog top --by rule --since 24h',
    description: 'The rules that matched most often, with counts and bars.',
    command: 'shieldlog top --by rule --since 24h',
    columns: 84,
    async record(folder) {
      await using api = await served(folder, { days: 4_000 })
      return await typed(api.folder, 'top --by rule --since 24h', 84)
    },
  },
  {
    name: 'check',
    title: 'shieldlog check',
    description: 'Configuration, API, state and one sink are well; the other sink refuses connections.',
    command: 'shieldlog check',
    columns: 84,
    async record(folder) {
      await using api = await served(folder, { live: { ratePerSecond: 2 } }, 'http://127.0.0.1:9/events')
      return await typed(api.folder, 'check', 84)
    },
  },
  {
    name: 'audit',
    title: 'shieldlog audit',
    description: 'A map of three zones by three days: all is well but three events that a sink has missed.',
    command: 'shieldlog audit',
    columns: 84,
    async record(folder) {
      await using api = await served(folder, { days: 12_000 })
      const once = startNode([await programIn(folder), 'run', '--once'], { cwd: folder, env: quiet })
      await once.exited
      const yesterday = shiftDay(dayOf(Date.now()), -1)
      const times = [782, 782, 787].map((minute) => startOf(yesterday) + minute * 60_000)
      api.simulator.append(101, yesterday, 3, { timestampMs: (index) => times[index]! })
      return await typed(folder, 'audit', 84)
    },
  },
]

/** What the machine of the writer has set must not be in a picture. */
const quiet = {
  SHIELDLOG_CONFIG: undefined,
  NO_COLOR: undefined,
  TERM: 'xterm-256color',
  NO_PROXY: '127.0.0.1',
}

async function recordStatus(folder: string): Promise<string> {
  // Refuses the events of one zone.
  const siem = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => response.writeHead(body.includes('"zone":{"id":102') ? 503 : 200).end())
  })
  await new Promise<void>((resolve) => siem.listen(0, '127.0.0.1', resolve))
  const { port } = siem.address() as AddressInfo
  const live = { ratePerSecond: 7 }
  await using api = await served(folder, { days: 6_000, live }, `http://127.0.0.1:${port}/events`)
  await using run = startNode([await programIn(folder), 'run'], { cwd: folder, env: quiet })
  try {
    await pause(20_000)
    return await typed(api.folder, 'status --watch', 100, 90_000)
  } finally {
    await run.kill('SIGTERM')
    siem.close()
  }
}

interface Served extends AsyncDisposable {
  readonly folder: string
  readonly simulator: Simulator
}

/** A simulated API, and a configuration that ships from it to files and, with `siem`, to that URL. */
async function served(folder: string, options: SimulatorOptions, siem?: string): Promise<Served> {
  const simulator = await startSimulator({ zones: zones.map(({ id }) => id), accessKey, days: 0, ...options })
  const sinks = [
    { name: 'archive', type: 'file', path: join(folder, 'events') },
    ...(siem === undefined ? [] : [{ name: 'siem', type: 'http', url: siem, compression: 'none' }]),
  ]
  const config = {
    api: { baseUrl: simulator.url, accessKey },
    zones,
    state: `sqlite:${join(folder, 'shieldlog.db')}`,
    poll: { everySeconds: 2 },
    server: { port: 0 },
    sinks,
  }
  writeFileSync(join(folder, 'shieldlog.yaml'), JSON.stringify(config, null, 2))
  return { folder, simulator, [Symbol.asyncDispose]: () => simulator.close() }
}

/** A start file by whose name the program calls itself `shieldlog`, as where it is installed. */
async function programIn(folder: string): Promise<string> {
  const file = join(folder, 'shieldlog.mjs')
  writeFileSync(file, `import '${projectFolder}src/cli.ts'\n`)
  return file
}

/** Runs a command on a terminal to its end; with `stopAfterMs` until Ctrl-C. */
async function typed(folder: string, args: string, columns: number, stopAfterMs?: number): Promise<string> {
  const command = `sh -c 'stty cols ${columns} rows 40; exec "${process.execPath}" "${await programIn(folder)}" ${args}'`
  await using terminal = startOnTerminal(command, { cwd: folder, env: { ...quiet, TMPDIR: folder } })
  if (stopAfterMs !== undefined) {
    await pause(stopAfterMs)
    terminal.type(ctrlC)
  }
  await terminal.exited
  return terminal.stdout()
}
