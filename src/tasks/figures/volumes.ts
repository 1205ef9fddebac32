import type { Command } from 'commander'
import { openWork } from '../../assemble/work.ts'
import { listVolumes } from '../../shield/figures.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { chooseAccount } from '../options.ts'
import { resultText } from '../../terminal/yaml.ts'

interface VolumeOptions {
  readonly app: string
  readonly account?: string
  readonly json?: boolean
}

export function register({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--app <id>', 'id of the application')
    .option('--json', 'as JSON in place of YAML')
    .option('--account <name>', 'account that owns it, where there are several')
    .addHelpText('after', example('volumes --app shop'))
    .action(async ({ app, account, json }: VolumeOptions, command: Command) => {
      const { config } = load(command, 'key')
      const { name } = chooseAccount(config, account)
      await using work = await openWork(config, {}, io.signal)
      const volumes = await listVolumes(work.reading.clientOf(name), app, io.signal)
      io.stdout.write(resultText(volumes, json))
      if (volumes.isWhole) return
      io.stderr.write('The API repeated a part of the list instead of its end: there may be more volumes.\n')
      exit(exitCodes.failed)
    })
}
