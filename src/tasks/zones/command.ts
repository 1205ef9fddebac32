import type { Command } from 'commander'
import { listZones, type AccountZones } from '../../discovery/list-zones.ts'
import type { Config } from '../../config/schema.ts'
import { messageOf } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { jsonResult, paintFor, table, type Column } from '../../terminal/text.ts'

export function register({ command, io, exit, open }: Registration): void {
  command
    .option('--json', 'as JSON')
    .addHelpText('after', example('zones'))
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      await using work = await open(command, 'key', {})
      const { config } = work
      const listed = await listZones(work.reading.clientOf)(config.accounts, io.signal)
      const rows = describeZones(config, listed)
      const isNamed = rows.some(({ name }) => name !== undefined)
      const columns: readonly Column<ZoneRow>[] = [
        ['account', ({ account }) => (config.accounts.length > 1 ? account : '')],
        ['zone', ({ id }) => String(id)],
        ['name', ({ name = '-' }) => (isNamed ? printable(name) : ''), { least: 8 }],
        ['pull zone', ({ pullZone = '-' }) => String(pullZone)],
        ['plan', ({ plan = '-' }) => plan, { spare: 0 }],
        ['WAF', ({ waf }) => (waf === undefined ? '-' : waf ? 'on' : 'off')],
        ['configured', ({ configured }) => (configured ? 'yes' : 'no')],
      ]
      if (json === true) io.stdout.write(jsonResult({ zones: rows }))
      else for (const line of table(rows, columns, paintFor(io.stdout))) io.stdout.write(`${line}\n`)
      for (const note of notesOf(config, listed)) io.stderr.write(`${note}\n`)
      exit(exitCodeOf(listed))
    })
}

/** An account that fails does not hide the others. */
function exitCodeOf(listed: readonly AccountZones[]): number {
  return listed.some((each) => 'failure' in each) ? exitCodes.failed : exitCodes.done
}

/** Notes below the table: accounts that could not be read, accounts without zones, zones that are not listed. */
function notesOf(config: Config, listed: readonly AccountZones[]): string[] {
  return listed.flatMap((each) => {
    if ('failure' in each) return [printable(messageOf(each.failure))]
    const { account, zones } = each
    const ids = new Set(zones.map(({ id }) => id))
    const configured = config.accounts.find(({ name }) => name === account)?.zones ?? []
    const missing = configured.filter(({ id }) => !ids.has(id)).map(({ id }) => id)
    return [
      ...(ids.size === 0 ? [`Account ${account} has no shield zones.`] : []),
      ...(missing.length === 0 ? [] : [`Configured, but not listed by the API: ${missing.join(', ')}.`]),
    ]
  })
}

type ZoneRow = ReturnType<typeof describeZones>[number]

/** The listed zones with what the configuration says of them: its name for a zone comes before the API's. */
function describeZones(config: Config, listed: readonly AccountZones[]) {
  return listed.flatMap((each) => {
    if ('failure' in each) return []
    const { account } = each
    const { zones: configured = [], discovery } = config.accounts.find(({ name }) => name === account) ?? {}
    return each.zones.map(({ id, name, pullZone, plan, isWafEnabled: waf }) => {
      const own = configured.find((zone) => zone.id === id)
      const shown = own === undefined || own.name === String(id) ? name : own.name
      const isShipped = discovery === undefined ? own !== undefined : !discovery.exclude.includes(id)
      // JSON leaves out what is undefined.
      const row = { account, id, name: shown === '' ? undefined : shown, pullZone, plan, waf }
      return { ...row, configured: isShipped }
    })
  })
}
