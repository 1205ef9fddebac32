import { compareFiles, keysOf } from '../e2e/shipped.ts'
import { readableDays } from '../e2e/workplace.ts'
import type { SoakOptions } from './options.ts'
import { isPoison, type World } from './world.ts'
import { readFileSync, readdirSync } from 'node:fs'

export type Verdict = Awaited<ReturnType<typeof judge>>

/** Everything that was shipped against everything that the API has. To be asked when nothing runs any more. */
export async function judge(
  world: World,
  { zones }: SoakOptions,
  samples: readonly Sample[],
  redisBytes: number,
) {
  const { place, receiver } = world
  const days = readableDays()
  const all = keysOf(place.simulator, zones, days)
  const file = compareFiles(place.events, place.simulator, zones, days)
  const deadLetters = await deadLettersOf(world)
  const missing = all.filter((key) => !isPoison(key) && !receiver.taken.has(key))
  const poison = new Set(all.filter(isPoison))
  const deadLettersWrong = [...poison.symmetricDifference(deadLetters)]
  const honesty = receiver.honesty()
  const faults: string[] = []
  if (file.missing + file.repeated + file.strange > 0) faults.push(`files: ${file.examples.join(', ')}`)
  if (missing.length > 0) faults.push(`HTTP: ${missing.length} events never came, ${missing[0]}`)
  for (const [what, count] of Object.entries(honesty)) if (count > 0) faults.push(`HTTP: ${count} ${what}`)
  // Poison that is no dead letter, and dead letters that are no poison.
  if (deadLettersWrong.length > 0) faults.push(`dead letters: ${deadLettersWrong.slice(0, 3).join(', ')}`)
  for (const day of days) {
    const audit = await place.ended(['audit', '--zone', zones.join(','), '--day', day])
    if (audit.code !== 0) faults.push(`audit of ${day}: exit ${audit.code} ${audit.stdout.slice(-500)}`)
  }
  const http = {
    missing: missing.length,
    // Allowed: at least once.
    repeated: [...receiver.taken.values()].filter((times) => times > 1).length,
    ...honesty,
    deadLettersWrong: deadLettersWrong.length,
    deadLetters: deadLetters.size,
  }
  const { missing: lost, repeated, strange } = file
  return {
    events: all.length,
    file: { missing: lost, repeated, strange },
    http,
    usage: usageOf(samples),
    redisBytesAnEvent: redisBytes / (2 * all.length),
    faults,
  }
}

async function deadLettersOf({ place }: World): Promise<Set<string>> {
  const { code, stdout, stderr } = await place.ended(['dead-letters', 'list', '--json'])
  if (code !== 0) throw new Error(`dead-letters list ended with ${code}: ${stderr}`)
  const { deadLetters } = JSON.parse(stdout) as { deadLetters: { zone: number; day: string; id: string }[] }
  return new Set(deadLetters.map(({ zone, day, id }) => `${zone}/${day}/${id}`))
}

export function textOf({ events, file, http, usage, redisBytesAnEvent, faults }: Verdict): string {
  const rows: readonly (readonly [string, string])[] = [
    ['events', events.toLocaleString('en')],
    ['files', `${file.missing} lost, ${file.repeated} twice, ${file.strange} strange`],
    ['HTTP', `${http.missing} lost, ${http.repeated} more than once, ${http.changedEvents} changed`],
    ['idempotency keys', `${http.keysWithTwoBodies} that named two bodies`],
    ['dead letters', `${http.deadLetters}, ${http.deadLettersWrong} of them wrong`],
    [
      'memory',
      `${usage.peakMegabytes.toFixed(0)} MB at most, ${usage.megabytesAnHour.toFixed(1)} MB an hour in the second half`,
    ],
    ['file descriptors', `${usage.peakFiles} at most`],
    ['Redis', `${redisBytesAnEvent.toFixed(1)} bytes an event and sink, all keys and the queue counted`],
  ]
  const lines = rows.map(([name, text]) => `${name.padEnd(18)}${text}`)
  return [
    ...lines,
    ...faults.map((fault) => `FAULT ${fault}`),
    faults.length === 0 ? 'passed' : 'failed',
    '',
  ].join('\n')
}

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
