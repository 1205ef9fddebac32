import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveHttp } from '../../setup/http-server.ts'
import { removeLeftovers } from '../../setup/leftovers.ts'
import { median, ofRounds, type Figure } from '../figures.ts'
import { imageFlags } from '../processes/child.ts'
import { withFolder, withSimulator } from '../processes/runs.ts'
import { usageOf, type Running } from '../processes/usage.ts'
import { fromSource } from './memory.ts'

interface StartOptions {
  /** The file that is started with node. */
  readonly program: string
  readonly tell: (line: string) => void
}

const rounds = 5

/** CPU seconds of the whole process, and the most memory that it held. */
interface Cost {
  readonly cpuSeconds: number
  readonly peakBytes: number
}

const zone = 101
/** After its start a run polls a few times at once. */
const settledMs = 45_000

/** What it costs to start the program, until it prints or asks the API, and to let it run with nothing to ship. */
export function measureStart({ program, tell }: StartOptions): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const figures: Figure[] = []
    for (const option of ['--version', '--help']) {
      const costs = await repeated(() => costOfCommand([program, option], folder))
      figures.push(figureOf(`CPU of ${option}`, costs, 0.1))
      tell(`start: ${option}, ${figures.at(-1)!.value.toFixed(2)} s`)
    }
    const first = await repeated(() => costOfFirstRequest(program, folder))
    figures.push(figureOf('CPU of run until its first request', first, 0.3))
    tell(`start: run, ${figures.at(-1)!.value.toFixed(2)} s`)
    return [...figures, await idleFigure(program, folder, tell)]
  })
}

async function repeated(measure: () => Promise<Cost>): Promise<Cost[]> {
  const costs: Cost[] = []
  for (let round = 0; round < rounds; round++) costs.push(await measure())
  return costs
}

function figureOf(name: string, costs: readonly Cost[], atMost: number): Figure {
  const peak = median(costs.map(({ peakBytes }) => peakBytes)) / 1e6
  return {
    name,
    ...ofRounds(costs.map(({ cpuSeconds }) => cpuSeconds)),
    unit: 's',
    limit: { atMost },
    detail: `peak RSS ${peak.toFixed(0)} MB`,
  }
}

/** A process tells its own cost when it ends, since nobody can ask it afterwards. */
const costAtExit = `data:text/javascript,${encodeURIComponent(`
import { readFileSync, writeSync } from 'node:fs'
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  const peak = Number(/^VmHWM:\\s*(\\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])
  writeSync(3, JSON.stringify({ cpuSeconds: (user + system) / 1e6, peakBytes: peak * 1024 }))
})`)}`

async function costOfCommand(args: readonly string[], cwd: string): Promise<Cost> {
  const child = spawn(process.execPath, [...imageFlags, '--import', costAtExit, ...args], {
    cwd,
    env: environment,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  return JSON.parse(await text(child.stdio[3] as NodeJS.ReadableStream)) as Cost
}

/** As in the image. */
const environment = { PATH: process.env['PATH'], MALLOC_ARENA_MAX: '1', NODE_ENV: 'production' }

async function costOfFirstRequest(program: string, folder: string): Promise<Cost> {
  const asked = Promise.withResolvers<void>()
  const { url } = await serveHttp(() => asked.resolve())
  try {
    return await running([program, 'run', '-c', writeConfig(folder, url)], folder, async (usage) => {
      await asked.promise
      return usage()
    })
  } finally {
    await removeLeftovers(undefined)
  }
}

/** Starts a process, and ends it after the work. */
async function running<T>(
  args: readonly string[],
  cwd: string,
  work: (usage: () => Running) => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, [...imageFlags, ...args], { cwd, env: environment, stdio: 'ignore' })
  try {
    return await work(() => usageOf(child.pid!))
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

/** The memory of a run with nothing to ship. */
function idleFigure(program: string, folder: string, tell: (line: string) => void): Promise<Figure> {
  return withSimulator({ zones: [zone], days: 0, accessKey: 'bench' }, (url) =>
    running([program, 'run', '-c', writeConfig(folder, url)], folder, async (usage) => {
      await sleep(settledMs)
      const value = usage().bytes / 1e6
      tell(`start: idle, ${value.toFixed(0)} MB`)
      const atMost = 90 * (program.endsWith('.ts') ? fromSource : 1)
      return { name: 'RSS of an idle run, one zone', value, unit: 'MB', limit: { atMost } }
    }),
  )
}

function writeConfig(folder: string, baseUrl: string): string {
  const file = join(folder, 'shieldlog.json')
  const config = {
    api: { baseUrl, accessKey: 'bench' },
    zones: [zone],
    state: `sqlite:${join(folder, 'shieldlog.db')}`,
    sinks: [{ name: 'archive', type: 'file', path: join(folder, 'events') }],
    server: { port: 0 },
    log: { level: 'error' },
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}
