import { readFileSync, readdirSync } from 'node:fs'

export interface Sample {
  readonly minutes: number
  readonly megabytes: number
  readonly files: number
}

export interface Usage {
  readonly peakMegabytes: number
  /** Of a straight line through the second half of the samples. */
  readonly megabytesAnHour: number
  readonly peakFiles: number
}

/** What a process of this machine holds now; undefined where it has ended or the system has no /proc. */
export function sampleOf(pid: number, minutes: number): Sample | undefined {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return { minutes, megabytes: Number(kilobytes) / 1000, files: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return undefined
  }
}

export function usageOf(samples: readonly Sample[]): Usage {
  return {
    peakMegabytes: Math.max(0, ...samples.map(({ megabytes }) => megabytes)),
    megabytesAnHour: 60 * slopeOf(samples.slice(Math.floor(samples.length / 2))),
    peakFiles: Math.max(0, ...samples.map(({ files }) => files)),
  }
}

/** Least squares, a minute. */
function slopeOf(samples: readonly Sample[]): number {
  if (samples.length < 2) return 0
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const x = mean(samples.map(({ minutes }) => minutes))
  const y = mean(samples.map(({ megabytes }) => megabytes))
  let [up, down] = [0, 0]
  for (const { minutes, megabytes } of samples) {
    up += (minutes - x) * (megabytes - y)
    down += (minutes - x) ** 2
  }
  return down === 0 ? 0 : up / down
}
