import { readFileSync } from 'node:fs'

/** What a piece of work cost its process. */
export interface Usage {
  readonly seconds: number
  /** User and system time of all threads. */
  readonly cpuSeconds: number
}

export async function measured(work: () => Promise<void>): Promise<Usage> {
  const before = process.cpuUsage()
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(before)
  return { seconds, cpuSeconds: (user + system) / 1e6 }
}

/** What a running process has cost until now. Linux only. */
export interface Running {
  readonly cpuSeconds: number
  /** What it holds now, and the most that it ever held. */
  readonly bytes: number
  readonly peakBytes: number
}

/** Clock ticks of Linux: hundredths of a second on every platform of Node. */
const ticksPerSecond = 100

export function usageOf(pid: number): Running {
  // The name of the process, in parentheses, may hold spaces; user and system time are the 14th and 15th field.
  const [, fields = ''] = /\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
  const [user, system] = fields.split(' ').slice(11, 13).map(Number) as [number, number]
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytesOf = (name: string) => Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  return {
    cpuSeconds: (user + system) / ticksPerSecond,
    bytes: bytesOf('VmRSS'),
    peakBytes: bytesOf('VmHWM'),
  }
}
