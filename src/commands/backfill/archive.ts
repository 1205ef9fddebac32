import { dirname, resolve } from 'node:path'
import {
  backfillFromArchive,
  type ArchiveConfig,
  type ArchiveOutcome,
  type ArchiveRequest,
} from '../../assemble/backfill-archive.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { systemClock } from '../../clock.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import { daysBetween } from '../../domain/day.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import { exitCodes, type Io, UsageError } from '../command.ts'
import { counted, plainSomeOf, paintFor } from '../terminal/text.ts'
import { chooseSinks, unknownName } from '../options.ts'
import { servedBy } from '../../formats/registry.ts'
import type { BackfillRequest } from '../../maintenance/backfill/backfill-plan.ts'

const tellEveryMs = 5_000

/** The options besides days and zones. */
interface ArchiveOptions {
  readonly source?: string
  readonly sink?: string[]
  readonly watch?: boolean
  readonly dryRun?: boolean
}

/** Throws UsageError. */
export function archiveRequestOf(
  config: Config,
  name: string,
  { from, to, zones }: BackfillRequest,
  options: ArchiveOptions,
): ArchiveRequest {
  if (options.dryRun === true) throw new UsageError('--dry-run does not work with --source; use one of them')
  if (options.watch === true)
    throw new UsageError('--source shows its progress without --watch; remove --watch')
  const source = sourceOf(config, name)
  if (options.sink === undefined || options.sink.length === 0)
    throw new UsageError('--source needs --sink <sink>, the sink to ship to')
  const sinks = chooseSinks(config, options.sink)
  for (const sink of sinks) checkTarget(source, sink)
  return { source, sinks, zones, from, to }
}

/** The file sink that --source names, or a copy of lines that it has cut, which `gaps list` names. Throws UsageError. */
export function sourceOf({ sinks }: Config, name: string): ArchiveConfig {
  const files = sinks.filter((sink): sink is ArchiveConfig => sink.type === 'file')
  const known = files.map((sink) => sink.name)
  const keeper = files.find(({ path }) => dirname(resolve(name)) === resolve(path, '.shieldlog', 'aside'))
  const source =
    keeper === undefined ? files.find((sink) => sink.name === name) : { ...keeper, name, path: name }
  if (source === undefined) {
    const other = sinks.find((sink) => sink.name === name)
    const what =
      other === undefined ? 'is not configured' : `is of type ${other.type}, and only file sinks have files`
    throw unknownName({ option: '--source', name, what, known })
  }
  if (servedBy(source).length === 0)
    throw new UsageError(
      `--source ${printable(name)} has format ${source.format}, and its lines do not contain whole events; use a file sink with format native or raw that includes labels and log`,
    )
  return source
}

function checkTarget(source: ArchiveConfig, { name, format }: SinkConfig): void {
  if (name === source.name)
    throw new UsageError(`--source and --sink are both ${printable(name)}; use another sink to ship to`)
  const served = servedBy(source)
  if (served.includes(format)) return
  const others = new Intl.ListFormat('en', { type: 'disjunction' }).format(served)
  throw new UsageError(
    `--sink ${printable(name)} has format ${format}, which cannot be made from the ${source.format} lines of ${printable(source.name)}; set its format to ${others}, or use a source with format ${format}`,
  )
}

interface Sums {
  shipped: number
  present: number
  refused: number
  unreadable: number
  days: Set<string>
  /** Streams that were not shipped completely. */
  problems: number
}

/** Ships in this process, also beside a running one. Returns the exit code: 1 where something was not shipped. */
export async function runFromArchive(config: Config, request: ArchiveRequest, io: Io): Promise<number> {
  const { bad } = paintFor(io.stderr)
  const say = (text: string) => void io.stderr.write(`${text}\n`)
  const { source, sinks, zones, from, to } = request
  const range = `${counted(daysBetween(from, to) + 1, 'day')} × ${counted(zones.length, 'zone')}`
  const names = sinks.map(({ name }) => name).join(', ')
  say(`backfill of ${range} from the files of ${source.name} (${printable(source.path)}) to ${names}`)
  const sums: Sums = { shipped: 0, present: 0, refused: 0, unreadable: 0, days: new Set(), problems: 0 }
  const beganMs = systemClock.monotonic()
  let toldAtMs = beganMs
  const told = {
    progressed(stream: Stream, shipped: number, present: number) {
      if (systemClock.monotonic() - toldAtMs < tellEveryMs) return
      toldAtMs = systemClock.monotonic()
      say(`${whoOf(stream)}: ${counted(shipped, 'event')} shipped so far, ${present} already there`)
    },
    settled(stream: Stream, outcome: ArchiveOutcome) {
      const { lines, isWhole } = add(sums, stream, outcome, source.name)
      for (const line of lines) say(isWhole ? line : bad(line))
    },
  }
  let isStopped = false
  try {
    await backfillFromArchive(config, request, told, io.signal)
  } catch (error) {
    if (!isFailure(error) || !io.signal.aborted) throw error
    isStopped = true
    say('stopped; the same command continues it')
  }
  // Keeps the result apart from events that are shipped to stdout.
  const output = sinks.some(({ type }) => type === 'stdout') ? io.stderr : io.stdout
  output.write(`${summaryOf(sums, (systemClock.monotonic() - beganMs) / 1000)}\n`)
  return sums.problems > 0 && !isStopped ? exitCodes.failed : exitCodes.done
}

function whoOf({ zone, day, sink }: Stream): string {
  return `${day}  zone ${zone} → ${printable(sink)}`
}

function add(
  sums: Sums,
  stream: Stream,
  outcome: ArchiveOutcome,
  source: string,
): { readonly lines: string[]; readonly isWhole: boolean } {
  const who = whoOf(stream)
  if (outcome.as === 'empty') return { lines: [`${who}: no events on that day`], isWhole: true }
  if (outcome.as === 'absent' || outcome.as === 'failed') {
    sums.problems++
    const why = outcome.as === 'absent' ? `${source} has no files of it` : printable(outcome.error, 500)
    const rest = outcome.as === 'failed' ? '; this sink gets nothing more in this run: run it again' : ''
    return { lines: [`${who}: ${why}${rest}`], isWhole: false }
  }
  const { shipped, present, filtered, skipped, refused, lines, damagedParts, where, leftOut } = outcome
  sums.shipped += shipped
  sums.present += present
  sums.refused += refused
  sums.unreadable += lines
  const isWhole = leftOut === undefined && lines + damagedParts + refused === 0
  if (leftOut === undefined) sums.days.add(stream.day)
  if (!isWhole) sums.problems++
  const others = plainSomeOf(
    [filtered, 'filtered'],
    [skipped, `skipped, too old for ${printable(stream.sink)}`],
    [refused, `event${refused === 1 ? '' : 's'} refused (dead letters)`],
    [lines, `line${lines === 1 ? '' : 's'} unreadable`],
    [damagedParts, `damaged part${damagedParts === 1 ? '' : 's'}`],
  )
  const text =
    leftOut === undefined
      ? [`${counted(shipped, 'event')} shipped`, `${present} already there`, ...others].join(', ')
      : `left out: ${leftOut}`
  return { lines: [`${who}: ${text}`, ...where.map((each) => `  ${printable(each, 300)}`)], isWhole }
}

function summaryOf({ days, shipped, present, refused, unreadable, problems }: Sums, seconds: number): string {
  const parts = [
    counted(days.size, 'day'),
    `${counted(shipped, 'event')} shipped`,
    `${present} already there`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    `${counted(unreadable, 'line')} unreadable`,
    ...(problems > 0 ? [`${counted(problems, 'stream')} incomplete`] : []),
  ]
  return `${parts.join(', ')}, in ${seconds.toFixed(1)} s`
}
