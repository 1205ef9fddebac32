import type { Command } from 'commander'
import type { Config } from '../config/schema.ts'
import { isFailure, messageOf, type Failure } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { collectNames, chooseAccount, chooseZones } from './options.ts'
import { exitCodes, type Io } from './command.ts'
import type { Registration } from './command.ts'
import { example } from './program-name.ts'
import { jsonResult, zoneText, paintFor } from './terminal/text.ts'
import type { Paint } from './terminal/text.ts'
import { openWork } from '../assemble/work.ts'
import { readUploadScanning, uploadDays, type UploadScanningMetrics } from '../shield/figures.ts'
import { barColumns, table, type Column } from './terminal/table.ts'

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
  if (read.length === 0 && !(json && isSeveral)) return
  const documents = read.map(({ zone, figures }) => ({ zone: zone.id, ...figures }))
  stdout.write(
    json
      ? jsonResult(isSeveral ? documents : documents[0])
      : `${uploadLines(read, paintFor(stdout)).join('\n')}\n`,
  )
}

/** Needs a key but no zones: where no zone is configured, any id is accepted. */
function zonesOf(config: Config, names: readonly string[], account: string | undefined): Zone[] {
  const isAnyConfigured = config.accounts.some(({ zones }) => zones.length > 0)
  const areIds = names.every((name) => /^\d{1,15}$/.test(name))
  if (isAnyConfigured || !areIds) return chooseZones(config, names)
  const { name } = chooseAccount(config, account)
  return [...new Set(names)].map((id) => ({ id: Number(id), name: id, account: name }))
}

const barWidth = 20
const texts = { most: 24, least: 10 }

interface ZoneFigures {
  readonly zone: Pick<Zone, 'id' | 'name'>
  readonly figures: UploadScanningMetrics
}

/** A line a zone and day with a bar of the scanned files, and one with the sums of each zone. */
export function uploadLines(read: readonly ZoneFigures[], paint: Paint): string[] {
  const rows = read.flatMap(({ zone: { id, name }, figures }) => {
    const zone = zoneText(id, name)
    const days = uploadDays(figures)
    const most = Math.max(1, ...days.map(({ filesScanned = 0 }) => filesScanned))
    const { totalFilesScanned, totalLoggedRequests, totalBlockedRequests } = figures
    return [
      ...days.map(({ day, filesScanned, loggedRequests, blockedRequests }) => ({
        texts: [zone, printable(day)],
        counts: [filesScanned, loggedRequests, blockedRequests],
        share: Math.max(0, filesScanned ?? 0) / most,
      })),
      {
        texts: [zone, 'total'],
        counts: [totalFilesScanned, totalLoggedRequests, totalBlockedRequests],
        share: 0,
      },
    ]
  })
  const countText = (count: number | null | undefined) =>
    typeof count === 'number' ? paint.count(count) : '-'
  return table(
    [
      ...['zone', 'day'].map((title, index): Column => {
        return { title, cells: rows.map((row) => row.texts[index]!), ...texts }
      }),
      ...['files scanned', 'logged', 'blocked'].map((title, index): Column => {
        return { title, cells: rows.map(({ counts }) => countText(counts[index])), align: 'right' }
      }),
      ...barColumns(
        rows.map(({ share }) => share),
        barWidth,
        paint,
      ),
    ],
    paint,
  )
}
