import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { startProcess } from '../../setup/processes.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { imageFlags } from './child.ts'
import { usageOf, type Running } from './usage.ts'

const cli = `${projectFolder}src/cli.ts`

/** A running shipper as its operator sees it. */
export interface RunningDaemon {
  metrics(): Promise<ReturnType<typeof readMetrics>>
  /** Asks its server for a path. `ms`: from the request until the whole answer was there. */
  ask(path: string): Promise<{ readonly text: string; readonly ms: number }>
  usage(): Running
}

/** `run` with a configuration, in a process of its own, until the work is done. */
export async function withDaemon<T>(
  folder: string,
  config: Readonly<Record<string, unknown>>,
  work: (daemon: RunningDaemon) => Promise<T>,
): Promise<T> {
  const file = join(folder, 'shieldlog.json')
  writeFileSync(file, JSON.stringify({ ...config, server: { port: 0 }, log: { format: 'json' } }))
  const args = [...imageFlags, cli, 'run', '-c', file]
  // As in the image.
  const child = startProcess(process.execPath, args, { cwd: folder, env: { MALLOC_ARENA_MAX: '1' } })
  const said = () => child.stderr().trimEnd().split('\n').slice(-5).join('\n')
  const died = child.exited.then(() => Promise.reject(new Error(`the shipper ended: ${said()}`)))
  died.catch(() => undefined)
  try {
    const [, url] = await child.waitForLine(/"event":"ServerListening".*"address":"([^"]+)"/)
    const ask = async (path: string) => {
      const began = performance.now()
      const { body } = await request(`${url}${path}`)
      const text = await body.text()
      return { text, ms: performance.now() - began }
    }
    const metrics = async () => readMetrics((await ask('/metrics')).text)
    return await Promise.race([work({ ask, metrics, usage: () => usageOf(child.pid) }), died])
  } catch (error) {
    throw new Error(`the shipper said last: ${said()}`, { cause: error })
  } finally {
    await child.kill('SIGTERM')
  }
}

/** The values of a metric, of all label sets. */
export function readMetrics(text: string) {
  const found = Map.groupBy(text.matchAll(/^(\w+)(?:\{.*\})? (\S+)$/gm), ([, name = '']) => name)
  const values = (name: string) => (found.get(name) ?? []).map(([, , value]) => Number(value))
  return { values, sum: (name: string) => values(name).reduce((sum, value) => sum + value, 0) }
}
