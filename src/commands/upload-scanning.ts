import type { Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import type { Config } from '../config/schema.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { readUploadScanning, uploadDays, type UploadScanningMetrics } from '../shield/figures.ts'
import { exitCodes, type Registration } from './command.ts'
import { chooseAccount, chooseZones, collectNames } from './options.ts'
import { example } from './program-name.ts'
import { barColumns, table } from './terminal/table.ts'
import { zoneText } from '../domain/text/counts.ts'
import { jsonResult, paintFor, type Paint } from './terminal/text.ts'

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
      const read: ZoneFigures[] = []
      await using work = await openWork(config, {}, io.signal)
      for (const each of zones)
        try {
          const client = work.reading.clientOf(each.account)
          read.push({ zone: each, figures: await readUploadScanning(client, each.id, io.signal) })
        } catch (error) {
          // A zone that fails does not hide the others.
          if (!isFailure(error) || error.kind === 'cancelled') throw error
          io.stderr.write(`zone ${zoneText(each.id, each.name)}: ${printable(messageOf(error))}\n`)
          exit(exitCodes.failed)
        }
      const documents = read.map(({ zone: { id }, figures }) => ({ zone: id, ...figures }))
      if (json && zones.length > 1) io.stdout.write(jsonResult(documents))
      else if (json && documents.length > 0) io.stdout.write(jsonResult(documents[0]))
      else if (read.length > 0) io.stdout.write(`${uploadLines(read, paintFor(io.stdout)).join('\n')}\n`)
    })
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
    const days = uploadDays(figures)
    const most = Math.max(1, ...days.map(({ filesScanned = 0 }) => filesScanned))
    const { totalFilesScanned: filesScanned, totalLoggedRequests, totalBlockedRequests } = figures
    const sums = { filesScanned, loggedRequests: totalLoggedRequests, blockedRequests: totalBlockedRequests }
    return [
      ...days.map((day) => ({ ...day, share: Math.max(0, day.filesScanned ?? 0) / most })),
      { ...sums, day: 'total', share: 0 },
    ].map((row) => ({ ...row, zone: zoneText(id, name) }))
  })
  const counts = (name: 'filesScanned' | 'loggedRequests' | 'blockedRequests') =>
    rows.map(({ [name]: count }) => (typeof count === 'number' ? paint.count(count) : '-'))
  return table(
    [
      { title: 'zone', cells: rows.map(({ zone }) => zone), ...texts },
      { title: 'day', cells: rows.map(({ day }) => printable(day)), ...texts },
      { title: 'files scanned', cells: counts('filesScanned'), align: 'right' },
      { title: 'logged', cells: counts('loggedRequests'), align: 'right' },
      { title: 'blocked', cells: counts('blockedRequests'), align: 'right' },
      ...barColumns(
        rows.map(({ share }) => share),
        barWidth,
        paint,
      ),
    ],
    paint,
  )
}
