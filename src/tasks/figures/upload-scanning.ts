import type { Command } from 'commander'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { zoneText, printable } from '../../domain/text/terminal-text.ts'
import { readUploadScanning } from '../../shield/figures.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { chooseZones, collectNames } from '../options.ts'
import { resultText } from '../../terminal/yaml.ts'

export function register({ command, io, exit, open }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name; repeatable, takes comma lists', collectNames)
    .option('--json', 'as JSON in place of YAML: an object for one zone, a list for several')
    .addHelpText('after', example('upload-scanning --zone 101'))
    .action(async ({ zone, json }: { zone: string[]; json?: boolean }, command: Command) => {
      await using work = await open(command, 'events', { zones: 'listed' })
      const zones = chooseZones(work.config, zone)
      const read: object[] = []
      for (const each of zones)
        try {
          const client = work.reading.clientOf(each.account)
          read.push({ zone: each.id, ...(await readUploadScanning(client, each.id, io.signal)) })
        } catch (error) {
          // A zone that fails does not hide the others.
          if (!isFailure(error) || error.kind === 'cancelled') throw error
          io.stderr.write(`zone ${zoneText(each.id, each.name)}: ${printable(messageOf(error))}\n`)
        }
      if (read.length > 0) io.stdout.write(resultText(zones.length > 1 ? read : read[0], json))
      exit(exitCodeOf(read.length === zones.length))
    })
}

function exitCodeOf(areAllRead: boolean): number {
  return areAllRead ? exitCodes.done : exitCodes.failed
}
