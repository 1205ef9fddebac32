import { compareFiles } from '../e2e/shipped.ts'
import { readableDays } from '../e2e/workplace.ts'
import type { SoakOptions } from './options.ts'
import { usageOf, type Sample, type Usage } from './samples.ts'
import { isPoison, type World } from './world.ts'

export interface Verdict {
  readonly events: number
  readonly file: { readonly missing: number; readonly repeated: number; readonly strange: number }
  readonly http: {
    readonly missing: number
    /** Allowed: at least once. */
    readonly repeated: number
    readonly changed: number
    readonly keysWithTwoBodies: number
    /** Poison that is no dead letter, and dead letters that are no poison. */
    readonly deadLettersWrong: number
    readonly deadLetters: number
  }
  readonly auditFailures: readonly string[]
  readonly usage: Usage
  readonly redisBytesAnEvent: number
  readonly faults: readonly string[]
}

/** Everything that was shipped against everything that the API has. To be asked when nothing runs any more. */
export async function judge(
  world: World,
  { zones }: SoakOptions,
  samples: readonly Sample[],
  redisBytes: number,
): Promise<Verdict> {
  const { place, receiver } = world
  const days = readableDays()
  const all = zones.flatMap((zone) =>
    days.flatMap((day) => place.simulator.entries(zone, day).map(({ logId }) => ({ zone, id: logId }))),
  )
  const file = compareFiles(place.events, place.simulator, zones, days)
  const deadLetters = await deadLettersOf(world)
  const missing = all.filter(({ zone, id }) => !isPoison(id) && !receiver.taken.has(`${zone}/${id}`))
  const poison = new Set(all.filter(({ id }) => isPoison(id)).map(({ zone, id }) => `${zone}/${id}`))
  const deadLettersWrong = [...poison.symmetricDifference(deadLetters)]
  const auditFailures: string[] = []
  for (const day of days) {
    const audit = await place.ended(['audit', '--zone', zones.join(','), '--day', day])
    if (audit.code !== 0) auditFailures.push(`${day}: exit ${audit.code} ${audit.stdout.slice(-500)}`)
  }
  const http = {
    missing: missing.length,
    repeated: [...receiver.taken.values()].filter((times) => times > 1).length,
    changed: receiver.changed.size,
    keysWithTwoBodies: receiver.twoBodies.size,
    deadLettersWrong: deadLettersWrong.length,
    deadLetters: deadLetters.size,
  }
  const faults = [
    ...(file.missing + file.repeated + file.strange > 0 ? [`files: ${file.examples.join(', ')}`] : []),
    ...(http.missing > 0 ? [`HTTP: ${missing.length} events never came, ${JSON.stringify(missing[0])}`] : []),
    ...(http.changed > 0 ? [`HTTP: ${http.changed} events came as two texts`] : []),
    ...(http.keysWithTwoBodies > 0
      ? [`HTTP: ${http.keysWithTwoBodies} idempotency keys named two bodies`]
      : []),
    ...(deadLettersWrong.length > 0 ? [`dead letters: ${deadLettersWrong.slice(0, 3).join(', ')}`] : []),
    ...auditFailures.map((text) => `audit of ${text}`),
  ]
  const { missing: lost, repeated, strange } = file
  return {
    events: all.length,
    file: { missing: lost, repeated, strange },
    http,
    auditFailures,
    usage: usageOf(samples),
    redisBytesAnEvent: redisBytes / (2 * all.length),
    faults,
  }
}

async function deadLettersOf({ place }: World): Promise<Set<string>> {
  const { code, stdout, stderr } = await place.ended(['dead-letters', 'list', '--json'])
  if (code !== 0) throw new Error(`dead-letters list ended with ${code}: ${stderr}`)
  const { deadLetters } = JSON.parse(stdout) as { deadLetters: { zone: number; id: string }[] }
  return new Set(deadLetters.map(({ zone, id }) => `${zone}/${id}`))
}

export function textOf({ events, file, http, usage, redisBytesAnEvent, faults }: Verdict): string {
  const rows: readonly (readonly [string, string])[] = [
    ['events', events.toLocaleString('en')],
    ['files', `${file.missing} lost, ${file.repeated} twice, ${file.strange} strange`],
    ['HTTP', `${http.missing} lost, ${http.repeated} more than once, ${http.changed} changed`],
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
