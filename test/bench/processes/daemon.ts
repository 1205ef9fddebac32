import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { imageFlags, type NodeFlags } from './child.ts'
import { usageOf, type Running } from './usage.ts'

const cli = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url))

/** A running shipper as its operator sees it. */
export interface RunningDaemon {
  metrics(): Promise<Metrics>
  /** Asks its server for a path. */
  ask(path: string): Promise<Asked>
  usage(): Running
}

export interface Asked {
  readonly text: string
  /** From the request until the whole answer was there. */
  readonly ms: number
}

export interface Metrics {
  /** Values of all label sets. */
  values(name: string): readonly number[]
  sum(name: string): number
}

/** `run` with a configuration, in a process of its own, until the work is done. */
export async function withDaemon<T>(
  folder: string,
  config: Readonly<Record<string, unknown>>,
  nodeFlags: NodeFlags,
  work: (daemon: RunningDaemon) => Promise<T>,
): Promise<T> {
  const file = join(folder, 'shieldlog.json')
  writeFileSync(file, JSON.stringify({ ...config, server: { port: 0 }, log: { format: 'json' } }))
  const child = spawn(process.execPath, [...imageFlags, ...nodeFlags, cli, 'run', '-c', file], {
    cwd: folder,
    // As in the image.
    env: { PATH: process.env['PATH'], MALLOC_ARENA_MAX: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  const lines: string[] = []
  const address = Promise.withResolvers<string>()
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line)
    const found = /"event":"ServerListening".*"address":"([^"]+)"/.exec(line)?.[1]
    if (found !== undefined) address.resolve(found)
  })
  const died = ended.then(() => Promise.reject(new Error(`the shipper ended: ${lines.slice(-5).join('\n')}`)))
  try {
    const url = await Promise.race([address.promise, died])
    const ask = async (path: string): Promise<Asked> => {
      const began = performance.now()
      const { body } = await request(`${url}${path}`)
      const text = await body.text()
      return { text, ms: performance.now() - began }
    }
    const metrics = async () => readMetrics((await ask('/metrics')).text)
    return await Promise.race([work({ ask, metrics, usage: () => usageOf(child.pid!) }), died])
  } catch (error) {
    throw new Error(`the shipper said last: ${lines.slice(-3).join('\n')}`, { cause: error })
  } finally {
    died.catch(() => undefined)
    child.kill()
    await ended
  }
}

export function readMetrics(text: string): Metrics {
  const found = Map.groupBy(text.matchAll(/^(\w+)(?:\{.*\})? (\S+)$/gm), ([, name = '']) => name)
  const values = (name: string) => (found.get(name) ?? []).map(([, , value]) => Number(value))
  return { values, sum: (name) => values(name).reduce((sum, value) => sum + value, 0) }
}
