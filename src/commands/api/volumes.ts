import { InvalidArgumentError, type Command } from 'commander'
import { printable } from '../../domain/text/printable.ts'
import { exitCodes } from '../io.ts'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { chooseAccount } from '../selection.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { counted } from '../terminal/number.ts'
import { paintFor } from '../terminal/terminal.ts'
import { volumeLines, volumeRecords } from './volume-text.ts'
import { type Volumes, listVolumes } from '../../shield/volumes.ts'
import { withClient } from '../../assemble/reading.ts'

interface VolumeOptions {
  readonly app: string
  readonly account?: string
  readonly json?: boolean
}

export function registerVolumes({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--app <id>', 'id of the application', appId)
    .option('--json', 'as JSON')
    .option('--account <name>', 'account that owns it, where there are several')
    .addHelpText('after', example('volumes --app shop'))
    .action(async ({ app, account, json = false }: VolumeOptions, command: Command) => {
      const { config } = load(command, 'key')
      const { name } = chooseAccount(config, account)
      const volumes = await withClient(config, name, (client) => listVolumes(client, app, io.signal))
      const { items, summary, isWhole } = volumes
      if (json) io.stdout.write(jsonResult({ items, summary, isWhole }))
      else if (items.length > 0) {
        const isPiped = io.stdout.isTTY !== true
        const lines = isPiped ? volumeRecords(items) : volumeLines(items, paintFor(io.stdout))
        io.stdout.write(`${lines.join('\n')}\n`)
      }
      io.stderr.write(`${summaryText(app, volumes)}\n`)
      if (isWhole) return
      io.stderr.write('The API repeated a part of the list instead of its end: there may be more volumes.\n')
      exit(exitCodes.failed)
    })
}

function appId(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('it takes the id of an application.')
}

function summaryText(app: string, { items, summary }: Volumes): string {
  const instances = items.flatMap(({ volumeInstances }) => volumeInstances ?? []).length
  const { totalPods, totalContainers, totalStorage } = summary ?? {}
  const sums = [
    ...(typeof totalPods === 'number' ? [counted(totalPods, 'pod')] : []),
    ...(typeof totalContainers === 'number' ? [counted(totalContainers, 'container')] : []),
    ...(typeof totalStorage === 'number' ? [`${totalStorage} GB in all`] : []),
  ]
  const listed = `${counted(items.length, 'volume')}, ${counted(instances, 'instance')}`
  return `${printable(app, 100)}: ${[listed, ...sums].join(', ')}.`
}
