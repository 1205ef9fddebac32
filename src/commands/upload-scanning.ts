import type { Command } from 'commander'
import type { Config } from '../config/schema.ts'
import { isFailure, messageOf, type Failure } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { collectNames, chooseAccount, chooseZones } from './options.ts'
import { exitCodes, type Io } from './command.ts'
import type { Registration } from './command.ts'
import { example } from './program-name.ts'
import { jsonResult, zoneText, countText, paintFor } from './terminal/text.ts'
import type { Paint } from './terminal/text.ts'
import { openWork } from '../assemble/work.ts'
import { readUploadScanning, uploadDays, type UploadScanningMetrics } from '../shield/upload-scanning.ts'
import { barOf, columnLines, tableLines, widthOf, type Column } from './terminal/table.ts'

interface UploadOptions {
  readonly zone: string[]
  readonly account?: string
  readonly json?: boolean
}

export function register({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name; repeatable, takes comma lists', collectNames)
    .option('--json', 'as JSON: an object for one zone, a list for several')
    .option('--account <name>', 'account of a zone that is not configured, where there are several')
    .addHelpText('after', example('upload-scanning --zone 101'))
    .action(async ({ zone, account, json = false }: UploadOptions, command: Command) => {
      const { config } = load(command, 'key')
      const zones = zonesOf(config, zone, account)
      const { read, failures } = await readZones(config, zones, io.signal)
      show(read, { json, isSeveral: zones.length > 1 }, io)
      for (const each of failures)
        io.stderr.write(
          `zone ${zoneText(each.zone.id, each.zone.name)}: ${printable(messageOf(each.failure))}\n`,
        )
      if (failures.length > 0) exit(exitCodes.failed)
    })
}

/** A zone that fails does not hide the others. */
async function readZones(config: Config, zones: readonly Zone[], signal: AbortSignal) {
  const read: ZoneFigures[] = []
  const failures: { readonly zone: Zone; readonly failure: Failure }[] = []
  await using work = await openWork(config, {}, signal)
  for (const zone of zones) {
    try {
      const client = work.reading.clientOf(zone.account)
      const figures = await readUploadScanning(client, zone.id, signal)
      read.push({ zone, figures })
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled') throw error
      failures.push({ zone, failure: error })
    }
  }
  return { read, failures }
}

function show(
  read: readonly ZoneFigures[],
  { json, isSeveral }: { readonly json: boolean; readonly isSeveral: boolean },
  { stdout }: Io,
): void {
  if (json) {
    const documents = read.map(({ zone, figures }) => ({ zone: zone.id, ...figures }))
    if (isSeveral || documents.length > 0) stdout.write(jsonResult(isSeveral ? documents : documents[0]))
    return
  }
  const paint = paintFor(stdout)
  const lines =
    stdout.isTTY === true
      ? read.flatMap((each, index) => [...(index > 0 ? [''] : []), ...uploadLines(each, paint)])
      : uploadRecords(read)
  if (read.length > 0) stdout.write(`${lines.join('\n')}\n`)
}

/** Needs a key but no zones: where no zone is configured, any id is accepted. */
function zonesOf(config: Config, names: readonly string[], account: string | undefined): Zone[] {
  const isAnyConfigured = config.accounts.some(({ zones }) => zones.length > 0)
  const areIds = names.every((name) => /^\d{1,15}$/.test(name))
  if (isAnyConfigured || !areIds) return chooseZones(config, names)
  const { name } = chooseAccount(config, account)
  return [...new Set(names)].map((id) => ({ id: Number(id), name: id, account: name }))
}

const widestBar = 40
const narrowestBar = 4
const widestDay = 24

interface ZoneFigures {
  readonly zone: Pick<Zone, 'id' | 'name'>
  readonly figures: UploadScanningMetrics
}

/** For a terminal: a line a day with a bar of the scanned files, then the sums. */
export function uploadLines({ zone, figures }: ZoneFigures, paint: Paint): string[] {
  const days = uploadDays(figures)
  const cells = rowsOf(figures, countText)
  const table = ['day', 'files scanned', 'logged', 'blocked'].map((title, index): Column => ({
    title,
    cells: cells.map((row) => row[index] ?? ''),
    ...(index === 0 ? { most: widestDay } : { align: 'right' }),
  }))
  const room = Math.min(widestBar, paint.width - 1 - widthOf(table) - 2)
  const most = Math.max(1, ...days.map(({ filesScanned = 0 }) => filesScanned))
  const bars = days.map(({ filesScanned = 0 }) =>
    room < narrowestBar ? '' : barOf((Math.max(0, filesScanned) / most) * room),
  )
  const { header, rows } = columnLines(table)
  return [
    `zone ${zoneText(zone.id, zone.name)}`,
    paint.dim(header.trimEnd()),
    ...rows.map((row, index) => `${row}  ${bars[index] ?? ''}`.trimEnd()),
    ...(days.length === 0 ? ['The API gave no figures by day.'] : []),
  ]
}

/** For a pipe: a line a zone and day, and one with the sums of each zone; whole texts and plain numbers. */
function uploadRecords(zones: readonly ZoneFigures[]): string[] {
  const records = zones.flatMap(({ zone, figures }) =>
    rowsOf(figures, String).map((row) => [String(zone.id), ...row]),
  )
  return tableLines(['zone', 'day', 'scanned', 'logged', 'blocked'], records)
}

type Count = number | null | undefined
type Counts = readonly [scanned: Count, logged: Count, blocked: Count]

/** A row a day, and one with the sums; each begins with the day. */
function rowsOf(figures: UploadScanningMetrics, text: (count: number) => string): string[][] {
  const { totalFilesScanned, totalLoggedRequests, totalBlockedRequests } = figures
  const row = (title: string, counts: Counts) => [
    title,
    ...counts.map((count) => (typeof count === 'number' ? text(count) : '-')),
  ]
  return [
    ...uploadDays(figures).map(({ day, filesScanned, loggedRequests, blockedRequests }) =>
      row(printable(day), [filesScanned, loggedRequests, blockedRequests]),
    ),
    row('total', [totalFilesScanned, totalLoggedRequests, totalBlockedRequests]),
  ]
}
