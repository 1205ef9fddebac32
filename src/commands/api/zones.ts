import type { Command } from 'commander'
import { listAccounts } from '../../assemble/reading.ts'
import type { Config } from '../../config/schema/schema.ts'
import { messageOf } from '../../domain/failure.ts'
import { printable } from '../../domain/text/printable.ts'
import { exitCodes } from '../io.ts'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { paintFor } from '../terminal/terminal.ts'
import { describeZones, zoneTable, type ZoneRow } from './zone-rows.ts'
import type { AccountZones } from '../../discovery/list-zones.ts'

export function registerZones({ command, io, exit, load }: Registration): void {
  command
    .option('--json', 'as JSON')
    .addHelpText('after', example('zones'))
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { config } = load(command, 'key')
      const listed = await listAccounts(config, io.signal)
      const rows = describeZones(config, listed)
      const { width } = paintFor(io.stdout)
      const isSeveral = config.accounts.length > 1
      if (json === true) io.stdout.write(jsonResult({ zones: rows }))
      else for (const line of zoneTable(rows, { isSeveral, width })) io.stdout.write(`${line}\n`)
      for (const note of notesOf(config, listed, rows)) io.stderr.write(`${note}\n`)
      if (listed.some((each) => 'failure' in each)) exit(exitCodes.failed)
    })
}

/** Notes below the table: accounts that could not be read, accounts without zones, zones that are not listed. */
function notesOf(config: Config, listed: readonly AccountZones[], rows: readonly ZoneRow[]): string[] {
  return listed.flatMap((each) => {
    if ('failure' in each) return [printable(messageOf(each.failure))]
    const { account } = each
    const known = new Set(rows.filter((row) => row.account === account).map(({ id }) => id))
    const configured = config.accounts.find(({ name }) => name === account)?.zones ?? []
    const missing = configured.filter(({ id }) => !known.has(id)).map(({ id }) => id)
    return [
      ...(known.size === 0 ? [`Account ${account} has no shield zones.`] : []),
      ...(missing.length === 0 ? [] : [`Configured, but not listed by the API: ${missing.join(', ')}.`]),
    ]
  })
}
