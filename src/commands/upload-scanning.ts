import type { Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import type { Config } from '../config/schema.ts'
import { isFailure, messageOf } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { readUploadScanning } from '../shield/figures.ts'
import { exitCodes, type Registration } from './command.ts'
import { chooseAccount, chooseZones, collectNames } from './options.ts'
import { example } from './program-name.ts'
import { zoneText } from '../domain/text/counts.ts'
import { resultText } from './terminal/yaml.ts'

interface UploadOptions {
  readonly zone: string[]
  readonly account?: string
  readonly json?: boolean
}

export function register({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name; repeatable, takes comma lists', collectNames)
    .option('--json', 'as JSON in place of YAML: an object for one zone, a list for several')
    .option('--account <name>', 'account of a zone that is not configured, where there are several')
    .addHelpText('after', example('upload-scanning --zone 101'))
    .action(async ({ zone, account, json }: UploadOptions, command: Command) => {
      const { config } = load(command, 'key')
      const zones = zonesOf(config, zone, account)
      const read: object[] = []
      await using work = await openWork(config, {}, io.signal)
      for (const each of zones)
        try {
          const client = work.reading.clientOf(each.account)
          read.push({ zone: each.id, ...(await readUploadScanning(client, each.id, io.signal)) })
        } catch (error) {
          // A zone that fails does not hide the others.
          if (!isFailure(error) || error.kind === 'cancelled') throw error
          io.stderr.write(`zone ${zoneText(each.id, each.name)}: ${printable(messageOf(error))}\n`)
          exit(exitCodes.failed)
        }
      if (read.length > 0) io.stdout.write(resultText(zones.length > 1 ? read : read[0], json))
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
