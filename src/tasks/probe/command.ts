import { InvalidArgumentError, type Command } from 'commander'
import { yamlText } from '../../config/print.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { findingsOf, settingsOf, type ProbedPoint } from '../../shield/probe/findings.ts'
import { readListings } from '../../shield/probe/read-listings.ts'
import type { Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { chooseZones } from '../options.ts'
import { canRedraw } from '../../terminal/live.ts'
import { table, type Column, jsonResult, paintFor } from '../../terminal/text.ts'

interface ProbeOptions {
  readonly zone: string
  readonly minutes: number
  readonly requestsPerSecond: number
  readonly json?: boolean
}

export function register({ command, io, open }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name of one zone')
    .option('--minutes <number>', 'how long the listing of today is watched', positive, 10)
    .option('--requests-per-second <number>', 'at most so many', positive, 1)
    .option('--json', 'as JSON: counts and shapes only, so that it can be passed on')
    .addHelpText('after', example('probe --zone 101'))
    .action(async ({ zone: name, json, ...options }: ProbeOptions, command: Command) => {
      await using work = await open(command, 'events', { zones: 'listed' })
      const zone = chooseZones(work.config, [name])[0]!
      const tell = (doing: string) => canRedraw(io.stderr) && io.stderr.write(`\r\x1b[K${doing}`)
      const seen = await readListings(
        { ...options, zone, firstPage: work.config.api.firstPage },
        { client: work.reading.clientOf(zone.account), clock: work.runtime.clock, tell },
        io.signal,
      )
      tell('')
      const findings = findingsOf(seen, options.requestsPerSecond)
      const settings = settingsOf(findings)
      const isWhole = seen.endedBy === undefined
      if (json === true) {
        io.stdout.write(jsonResult({ isWhole, requests: seen.answers.length, findings, settings }))
        return
      }
      io.stdout.write(`${table(findings, columns, paintFor(io.stdout)).join('\n')}\n\n`)
      if (!isWhole)
        io.stdout.write(
          'The probe ended early. Wait for some minutes before the next one, which may find more.\n',
        )
      if (Object.keys(settings).length === 0) io.stdout.write('The defaults fit.\n')
      else io.stdout.write(`Settings that follow:\n\n${yamlText(settings)}`)
    })
}

function positive(text: string): number {
  const value = Number(text)
  if (value > 0 && value <= 1_000) return value
  throw new InvalidArgumentError('use a number above 0, at most 1000.')
}

const columns: readonly Column<ProbedPoint>[] = [
  ['point', ({ point }) => point],
  ['assumed', ({ assumed }) => assumed, { least: 10, spare: 1 }],
  ['found', ({ found }) => printable(found, 500), { least: 30 }],
  [
    'setting',
    ({ setting = '', value }) => (value === undefined ? setting : `${setting}: ${value}`),
    { spare: 2 },
  ],
]
