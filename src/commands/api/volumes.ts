import type { Command } from 'commander'
import { createOperations } from '../../assemble/tasks/operations.ts'
import { exitCodes } from '../io.ts'
import { jsonResult } from '../terminal/json-result.ts'
import type { Registration } from '../registration.ts'
import { chooseAccount } from '../selection.ts'
import { example } from '../program-name.ts'

export function registerVolumes({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--app <id>', 'id of the application')
    .option('--account <name>', 'account that owns it, where there are several')
    .addHelpText('after', example('volumes --app shop'))
    .action(async ({ app, account }: { app: string; account?: string }, command: Command) => {
      const { config } = load(command, 'key')
      const operations = createOperations(config, chooseAccount(config, account).name)
      const { items, summary, isWhole } = await operations.listVolumes(app, io.signal)
      io.stdout.write(jsonResult({ items, summary }))
      if (isWhole) return
      io.stderr.write('the listing was left before its end: there may be more volumes\n')
      exit(exitCodes.failed)
    })
}
