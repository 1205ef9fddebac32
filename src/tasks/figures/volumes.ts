import type { Command } from 'commander'
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

export function register({ command, io, exit, open }: Registration): void {
  command
    .requiredOption('--app <id>', 'id of the application')
    .option('--json', 'as JSON in place of YAML')
    .option('--account <name>', 'account that owns it, where there are several')
    .addHelpText('after', example('volumes --app shop'))
    .action(async ({ app, account, json }: VolumeOptions, command: Command) => {
      await using work = await open(command, 'key', {})
      const { name } = chooseAccount(work.config, account)
      const volumes = await listVolumes(work.reading.clientOf(name), app, io.signal)
      io.stdout.write(resultText(volumes, json))
      const problem = 'The API repeated a part of the list instead of its end: there may be more volumes.'
      if (!volumes.isWhole) io.stderr.write(`${problem}\n`)
      exit(exitCodeOf(volumes))
    })
}

function exitCodeOf({ isWhole }: { readonly isWhole: boolean }): number {
  return isWhole ? exitCodes.done : exitCodes.failed
}
