import { version } from '../../assemble/version.ts'
import { printable } from '../../domain/text/printable.ts'
import type { Status, WorkerStatus } from '../../domain/status/status.ts'
import { durationText } from '../../domain/text/duration.ts'
import { wrapPlain } from '../../domain/text/wrap.ts'
import { minuteText } from '../../domain/status/problems.ts'

/** Version, processes and uptime to the left; the time to the right where it fits. */
export function headerLines({ at, workers }: Pick<Status, 'at' | 'workers'>, width: number): string[] {
  const left = [`shieldlog ${version}`, ...workersTexts(workers, at)].join(', ')
  const time = minuteText(at)
  // Piped lines are not padded to a width that no terminal has.
  if (width > 1000) return [`${left}  ${time}`]
  for (const right of [time, time.slice(time.indexOf(' ') + 1)]) {
    const room = width - left.length - right.length
    if (room >= 2) return [`${left}${' '.repeat(room)}${right}`]
  }
  return [...wrapPlain(left, width), time]
}

function workersTexts(workers: readonly WorkerStatus[], at: string): string[] {
  const [first, ...others] = workers
  if (first === undefined) return []
  if (others.length === 0) return [processText(first), ...uptimeText(workers, at, '')]
  const hosts = [...new Set(workers.flatMap(({ host }) => host ?? []))].map((host) => printable(host, 60))
  const where = hosts.length === 0 || hosts.length > 3 ? '' : ` on ${hosts.join(', ')}`
  return [`${workers.length} processes${where}`, ...uptimeText(workers, at, 'the oldest ')]
}

function processText({ pid, host, name }: WorkerStatus): string {
  return pid === undefined || host === undefined
    ? printable(name)
    : `process ${pid} on ${printable(host, 100)}`
}

function uptimeText(workers: readonly WorkerStatus[], at: string, who: string): string[] {
  const starts = workers.flatMap(({ startedAt }) => startedAt ?? []).sort()
  if (starts[0] === undefined) return []
  return [`${who}running for ${durationText(Math.max(0, (Date.parse(at) - Date.parse(starts[0])) / 1000))}`]
}
