import type { Command } from 'commander'
import { createOperations } from '../../assemble/tasks/operations.ts'
import type { Config } from '../../config/schema/schema.ts'
import { collectNames } from '../arguments.ts'
import { jsonResult } from '../terminal/json-result.ts'
import type { Registration } from '../registration.ts'
import { chooseAccount, chooseZones } from '../selection.ts'
import { example } from '../program-name.ts'

export function registerUploadScanning({ command, io, load }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name; repeatable, takes comma lists', collectNames)
    .option('--account <name>', 'account of a zone that is not configured, where there are several')
    .addHelpText('after', example('upload-scanning --zone 101'))
    .action(async ({ zone, account }: { zone: string[]; account?: string }, command: Command) => {
      const { config } = load(command, 'key')
      for (const target of targets(config, zone, account)) {
        const operations = createOperations(config, target.account)
        io.stdout.write(jsonResult(await operations.readUploadScanning(target.id, io.signal)))
      }
    })
}

/** Needs a key but no zones: where no zone is configured, any id is accepted. */
function targets(config: Config, names: readonly string[], account: string | undefined) {
  const isAnyConfigured = config.accounts.some(({ zones }) => zones.length > 0)
  const areIds = names.every((name) => /^\d{1,15}$/.test(name))
  if (isAnyConfigured || !areIds) return chooseZones(config, names)
  const { name } = chooseAccount(config, account)
  return names.map((id) => ({ id: Number(id), account: name }))
}
