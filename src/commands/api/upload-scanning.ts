import type { Command } from 'commander'
import type { Config } from '../../config/schema/schema.ts'
import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import type { Zone } from '../../domain/stream.ts'
import { printable } from '../../domain/text/printable.ts'
import { collectNames } from '../arguments.ts'
import { exitCodes, type Io } from '../io.ts'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { chooseAccount, chooseZones } from '../selection.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { paintFor } from '../terminal/terminal.ts'
import { zoneText } from '../terminal/zone-text.ts'
import { uploadLines, uploadRecords, type ZoneFigures } from './upload-text.ts'
import { withClient } from '../../assemble/reading.ts'
import { readUploadScanning } from '../../shield/upload-scanning.ts'

interface UploadOptions {
  readonly zone: string[]
  readonly account?: string
  readonly json?: boolean
}

export function registerUploadScanning({ command, io, exit, load }: Registration): void {
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
  for (const zone of zones) {
    try {
      const figures = await withClient(config, zone.account, (client) =>
        readUploadScanning(client, zone.id, signal),
      )
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
