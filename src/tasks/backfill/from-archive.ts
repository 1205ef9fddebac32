import { printable, counted, sumOf } from '../../domain/text/terminal-text.ts'
import { systemClock } from '../../clock.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import type { Stream, Zone } from '../../domain/stream.ts'
import { resultOutput, type Io, UsageError } from '../../terminal/io.ts'
import { type Archived, type ArchivedJob, nothing, shipArchived } from './ship-archived.ts'
import { plainSomeOf, paintFor } from '../../terminal/text.ts'
import { chooseSinks, sourceOf } from '../options.ts'
import { addressOf } from '../../sinks/stores.ts'
import { servedBy } from '../../formats/registry.ts'
import { type BackfillRequest, type BackfillOptions, tooOldFor } from './plan.ts'
import { type Day, daysFrom } from '../../domain/day.ts'
import { openWork, type Work } from '../../assemble/work.ts'
import { refuseHeld, rememberSinks } from '../../assemble/held-sinks.ts'
import { setClocks } from '../../plan/planner.ts'
import { createRedactor } from '../../shield/redaction/redact.ts'
import { maxAgeHoursIn } from './backfill.ts'
import { type PartsConfig, openParts, piecesOf } from '../../assemble/sink-files.ts'

/** Days of zones that are shipped from the files of one sink to others. */
interface ArchiveRequest {
  readonly source: PartsConfig
  readonly sinks: readonly SinkConfig[]
  readonly zones: readonly Zone[]
  readonly days: readonly Day[]
}

/** Throws UsageError. */
export function archiveRequestOf(
  config: Config,
  name: string,
  { from, to, zones }: BackfillRequest,
  { sink: names = [], watch = false, dryRun = false }: BackfillOptions,
): ArchiveRequest {
  if (dryRun || watch)
    throw new UsageError(`--${dryRun ? 'dry-run' : 'watch'} does not work with --source; remove it`)
  const source = sourceOf(config, name)
  if (names.length === 0) throw new UsageError('--source needs --sink <sink>, the sink to ship to')
  const sinks = chooseSinks(config, names)
  for (const sink of sinks) checkTarget(source, sink)
  return { source, sinks, zones, days: daysFrom(from, to) }
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

/** Ships in this process, also beside a running one. Returns of how many streams not all was shipped; 0 after a stop. */
export async function runFromArchive(config: Config, request: ArchiveRequest, io: Io): Promise<number> {
  const { bad } = paintFor(io.stderr)
  const say = (text: string) => void io.stderr.write(`${text}\n`)
  const { source, sinks, zones, days } = request
  const range = `${counted(days.length, 'day')} × ${counted(zones.length, 'zone')}`
  const names = sinks.map(({ name }) => name).join(', ')
  const where = source.type === 'file' ? source.path : addressOf(source)
  say(`backfill of ${range} from the files of ${source.name} (${printable(where)}) to ${names}`)
  const all: Archived[] = []
  const beganMs = systemClock.monotonic()
  function settled(stream: Stream, archived: Archived): void {
    all.push(archived)
    for (const line of linesOf(stream, archived)) say(isWhole(archived) ? line : bad(line))
  }
  try {
    await using work = await openWork(config, { store: 'created' }, io.signal)
    await work.beating(() => shipArchive(work, request, settled, io.signal))
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
  return io.signal.aborted ? 0 : incomplete
}

/** When a sink fails, goes on with the next one. Throws `cancelled` and the Failures of a store. */
async function shipArchive(
  work: Work,
  { source, sinks, zones, days }: ArchiveRequest,
  settled: (stream: Stream, archived: Archived) => void,
  signal: AbortSignal,
): Promise<void> {
  const { config, store, runtime } = work
  const { clock, apiClock } = runtime
  const { sinks: opened, deps } = await work.shipping()
  await refuseHeld(
    config,
    store,
    sinks.map(({ name }) => name),
  )
  await rememberSinks({ sinks }, store)
  setClocks(await store.catalogue.checkpoints(), zones, apiClock)
  await using parts = openParts(source, runtime, signal)
  const redactor = createRedactor(config.redact)
  const limits = { maxAgeHoursOf: maxAgeHoursIn(config) }

  async function shipDay(job: ArchivedJob): Promise<Archived> {
    const { stream, read } = job
    const tooOld = tooOldFor(stream, clock.now(), limits)
    if (tooOld !== undefined) return nothing(tooOld)
    for await (const _ of read()) return await shipArchived(job, deps, signal)
    // A day without events has no file; the source's own checkpoint shows whether it was read to its end.
    const own = await store.ledger.read({ ...stream, sink: source.name })
    const isEmpty = own?.lastFull !== undefined && own.counters.events === 0
    return nothing(isEmpty ? undefined : `${source.name} has no files of it`)
  }

  const places = days.flatMap((day) => zones.map((zone) => ({ day, zone })))
  for (const { name, format } of sinks)
    for (const { day, zone } of places) {
      const stream = { zone: zone.id, day, sink: name }
      const read = () => piecesOf(source, parts, format, { zone, day }, redactor)
      const job = { request: crypto.randomUUID(), stream, zone, sink: opened.get(name)!, read }
      try {
        settled(stream, await shipDay(job))
      } catch (error) {
        if (!isFailure(error) || signal.aborted || error.code.startsWith('store_')) throw error
        const why = `${messageOf(error)}; this sink gets nothing more in this run: run it again`
        settled(stream, nothing(why))
        break
      }
    }
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
