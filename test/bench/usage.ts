import { readFileSync } from 'node:fs'

/** What a piece of work cost its process. */
export interface Usage {
  readonly seconds: number
  /** Of all threads. */
  readonly cpuSeconds: number
  /** Of the thread that runs the code: what is left of the rate on a machine that is busy with other things. */
  readonly threadSeconds: number
}

export async function measured(work: () => Promise<void>): Promise<Usage> {
  const before = process.cpuUsage()
  const threadBefore = process.threadCpuUsage()
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1000
  const ofThread = secondsOf(process.threadCpuUsage(threadBefore))
  return { seconds, cpuSeconds: secondsOf(process.cpuUsage(before)), threadSeconds: ofThread }
}

function secondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1e6
}

/**
 * Most memory that this process ever held, in bytes. The kernel's own mark where there is one: what `resourceUsage`
 * says begins with the size of the process that started this one.
 */
export function peakBytes(): number {
  try {
    const kilobytes = /^VmHWM:\s*(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (kilobytes !== undefined) return Number(kilobytes) * 1024
  } catch {
    // Not on Linux.
  }
  return process.resourceUsage().maxRSS * 1024
}
