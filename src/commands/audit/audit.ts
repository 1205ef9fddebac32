import type { Command } from 'commander'
import { audit, type DaysAudit } from '../../assemble/tasks/audit.ts'
import { printable } from '../../domain/text/printable.ts'
import type { Day } from '../../domain/day.ts'
import { auditJson, auditText } from './text.ts'
import { collectNames, dayArgument } from '../arguments.ts'
import { exitCodes } from '../io.ts'
import type { Registration } from '../registration.ts'
import { chooseSinks, chooseZones } from '../selection.ts'
import { paintFor } from '../terminal/terminal.ts'
import { example } from '../program-name.ts'

interface AuditOptions {
  readonly zone: string[]
  readonly day: Day
  readonly sink?: string[]
  readonly repair?: boolean
  readonly deep?: boolean
  readonly json?: boolean
}

export function registerAudit({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--zone <zone>', 'id or name; repeatable, takes comma lists', collectNames)
    .requiredOption('--day <day>', 'YYYY-MM-DD in UTC, today or yesterday', dayArgument)
    .option('--sink <sink>', 'only this sink; repeatable, takes comma lists', collectNames)
    .option('--deep', 'read the files of file sinks too, and compare them line by line')
    .option('--repair', 'ship what is missing, with --deep also what files have lost; then compare again')
    .option('--json', 'as JSON')
    .addHelpText('after', example('audit --zone 101 --day yesterday --repair'))
    .action(async (options: AuditOptions, command: Command) => {
      const { config } = load(command)
      const zones = chooseZones(config, options.zone)
      const sinks = chooseSinks(config, options.sink)
      const repair = options.repair === true
      const deep = options.deep === true
      const tell = (text: string) => void io.stderr.write(`${text}\n`)
      const audited = await audit(config, { zones, day: options.day, sinks, repair, deep, tell }, io.signal)
      // Keeps the report apart from events that a repair ships to stdout.
      const output = repair && sinks.some(({ type }) => type === 'stdout') ? io.stderr : io.stdout
      output.write(
        options.json === true ? auditJson(options.day, audited) : auditText(audited, paintFor(output)),
      )
      for (const line of [...audited.unrepaired, ...audited.blind]) tell(printable(line))
      exit(exitCodeOf(audited))
    })
}

function exitCodeOf({ streams, files, blind, unrepaired }: DaysAudit): number {
  if (blind.length > 0) return exitCodes.blind
  const isWhole = unrepaired.length === 0 && [...streams, ...files].every(({ isEqual }) => isEqual)
  return isWhole ? exitCodes.done : exitCodes.failed
}
