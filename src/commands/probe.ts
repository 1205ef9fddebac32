import { InvalidArgumentError, type Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import { yamlText } from '../config/print.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { findingsOf, settingsOf, type Finding } from '../shield/probe/findings.ts'
import { readListings } from '../shield/probe/read-listings.ts'
import { UsageError, type Registration } from './command.ts'
import { chooseZones, collectNames } from './options.ts'
import { example } from './program-name.ts'
import { table, type Column } from './terminal/table.ts'
import { jsonResult, paintFor, wrapped, type Paint } from './terminal/text.ts'

interface ProbeOptions {
  readonly zone: string[]
  readonly minutes: number
  readonly requestsPerSecond: number
  readonly json?: boolean
}

export function register({ command, io, load }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name of one zone', collectNames)
    .option('--minutes <number>', 'how long the listing of today is watched', positive, 10)
    .option('--requests-per-second <number>', 'at most so many', positive, 1)
    .option('--json', 'as JSON: counts and shapes only, so that it can be passed on')
    .addHelpText('after', example('probe --zone 101'))
    .action(async ({ zone, minutes, requestsPerSecond, json = false }: ProbeOptions, command: Command) => {
      await using work = await openWork(load(command, 'events').config, { zones: 'listed' }, io.signal)
      const [chosen, ...more] = chooseZones(work.config, zone)
      if (chosen === undefined || more.length > 0)
        throw new UsageError('probe reads one zone; use --zone once')
      const request = { zone: chosen, minutes, requestsPerSecond, firstPage: work.config.api.firstPage }
      const seen = await readListings(
        request,
        {
          client: work.reading.clientOf(chosen.account),
          clock: work.runtime.clock,
          tell: (doing) => io.stderr.isTTY === true && io.stderr.write(`\r\x1b[K${doing}`),
        },
        io.signal,
      )
      if (io.stderr.isTTY === true) io.stderr.write('\r\x1b[K')
      const findings = findingsOf(seen, request)
      const settings = treeOf(settingsOf(findings))
      const isWhole = seen.endedBy === undefined
      if (json) {
        io.stdout.write(jsonResult({ isWhole, requests: seen.requests, findings, settings }))
        return
      }
      io.stdout.write(`${findingLines(findings, paintFor(io.stdout)).join('\n')}\n\n`)
      if (!isWhole) io.stdout.write('The probe ended early: what comes after that is missing.\n')
      if (Object.keys(settings).length === 0) io.stdout.write('The defaults fit.\n')
      else io.stdout.write(`Settings that follow:\n\n${yamlText(settings)}`)
      if (!isWhole) io.stderr.write(wrapped('Wait for some minutes before the next probe.\n', io.stderr))
    })
}

function positive(text: string): number {
  const value = Number(text)
  if (value > 0 && value <= 1_000) return value
  throw new InvalidArgumentError('use a number above 0, at most 1000.')
}

function findingLines(findings: readonly Finding[], paint: Paint): string[] {
  const columns: readonly Column<Finding>[] = [
    ['point', ({ point }) => point],
    ['assumed', ({ assumed }) => assumed, { least: 10, spare: 1 }],
    ['found', ({ found }) => printable(found, 500), { least: 30 }],
    [
      'setting',
      ({ setting = '', value }) => (value === undefined ? setting : `${setting}: ${value}`),
      { spare: 2 },
    ],
  ]
  return table(findings, columns, paint)
}

/** `{ a: { b: 1 } }` of `a.b`. */
function treeOf(settings: ReadonlyMap<string, string | number>): Record<string, object> {
  const tree: Record<string, Record<string, string | number>> = {}
  for (const [path, value] of settings) {
    const [section = '', name = ''] = path.split('.')
    ;(tree[section] ??= {})[name] = value
  }
  return tree
}
