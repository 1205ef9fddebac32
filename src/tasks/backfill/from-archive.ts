import { backfillFromArchive, type ArchiveRequest } from './backfill.ts'
import { type PartsConfig } from '../../assemble/sink-files.ts'
import { printable, counted, sumOf } from '../../domain/text/terminal-text.ts'
import { systemClock } from '../../clock.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import { daysBetween } from '../../domain/day.ts'
import { isFailure } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import { exitCodes } from '../command.ts'
import { resultOutput, type Io, UsageError } from '../../terminal/io.ts'
import type { Archived } from './ship-archived.ts'
import { plainSomeOf, paintFor } from '../../terminal/text.ts'
import { chooseSinks, sourceOf } from '../options.ts'
import { servedBy } from '../../formats/registry.ts'
import type { BackfillRequest } from './plan.ts'

interface ArchiveOptions {
  readonly sink?: string[]
  readonly watch?: boolean
  readonly dryRun?: boolean
}

/** Throws UsageError. */
export function archiveRequestOf(
  config: Config,
  name: string,
  { from, to, zones }: BackfillRequest,
  { sink: names = [], watch = false, dryRun = false }: ArchiveOptions,
): ArchiveRequest {
  if (dryRun || watch)
    throw new UsageError(`--${dryRun ? 'dry-run' : 'watch'} does not work with --source; remove it`)
  const source = sourceOf(config, name)
  if (names.length === 0) throw new UsageError('--source needs --sink <sink>, the sink to ship to')
  const sinks = chooseSinks(config, names)
  for (const sink of sinks) checkTarget(source, sink)
  return { source, sinks, zones, from, to }
}

function checkTarget(source: PartsConfig, { name, format }: SinkConfig): void {
  if (name === source.name)
    throw new UsageError(`--source and --sink are both ${printable(name)}; use another sink to ship to`)
  const served = servedBy(source)
  if (served.includes(format)) return
  throw new UsageError(
    `--sink ${printable(name)} has format ${format}, which cannot be made from the ${source.format} lines of ${printable(source.name)}; set its format to one of ${served.join(', ')}, or use a source with format ${format}`,
  )
}

/** Ships in this process, also beside a running one. Returns the exit code: 1 where something was not shipped. */
export async function runFromArchive(config: Config, request: ArchiveRequest, io: Io): Promise<number> {
  const { bad } = paintFor(io.stderr)
  const say = (text: string) => void io.stderr.write(`${text}\n`)
  const { source, sinks, zones, from, to } = request
  const range = `${counted(daysBetween(from, to) + 1, 'day')} × ${counted(zones.length, 'zone')}`
  const names = sinks.map(({ name }) => name).join(', ')
  const where = source.type === 'file' ? source.path : `bucket ${source.bucket}`
  say(`backfill of ${range} from the files of ${source.name} (${printable(where)}) to ${names}`)
  const all: Archived[] = []
  const beganMs = systemClock.monotonic()
  function settled(stream: Stream, archived: Archived): void {
    all.push(archived)
    for (const line of linesOf(stream, archived)) say(isWhole(archived) ? line : bad(line))
  }
  try {
    await backfillFromArchive(config, request, settled, io.signal)
  } catch (error) {
    if (!isFailure(error) || !io.signal.aborted) throw error
    say('stopped; the same command continues it')
  }
  const incomplete = all.filter((archived) => !isWhole(archived)).length
  const sums = [
    `${counted(sumOf(all, 'shipped'), 'event')} shipped`,
    `${sumOf(all, 'present')} already there`,
    ...plainSomeOf([incomplete, `of ${counted(all.length, 'stream')} incomplete`]),
  ]
  const seconds = (systemClock.monotonic() - beganMs) / 1000
  resultOutput(io, sinks).write(`${sums.join(', ')}, in ${seconds.toFixed(1)} s\n`)
  return incomplete > 0 && !io.signal.aborted ? exitCodes.failed : exitCodes.done
}

function isWhole({ leftOut, refused, unreadable: { lines, damagedParts } }: Archived): boolean {
  return leftOut === undefined && lines + damagedParts + refused === 0
}

function linesOf(stream: Stream, archived: Archived): string[] {
  const { shipped, present, filtered, skipped, refused, leftOut } = archived
  const { lines, damagedParts, where } = archived.unreadable
  const counts = plainSomeOf(
    [filtered, 'filtered'],
    [skipped, `skipped, too old for ${printable(stream.sink)}`],
    [refused, 'refused (dead letters)'],
    [lines, lines === 1 ? 'line unreadable' : 'lines unreadable'],
    [damagedParts, damagedParts === 1 ? 'damaged part' : 'damaged parts'],
  )
  const text =
    leftOut === undefined
      ? [`${counted(shipped, 'event')} shipped`, `${present} already there`, ...counts].join(', ')
      : `left out: ${printable(leftOut, 500)}`
  const who = `${stream.day}  zone ${stream.zone} → ${printable(stream.sink)}`
  return [`${who}: ${text}`, ...where.map((each) => `  ${printable(each, 300)}`)]
}
