import type { Command } from 'commander'
import { readStatus } from '../assemble/tasks/status.ts'
import { jsonResult } from './terminal/json-result.ts'
import type { Registration } from './registration.ts'
import { statusText } from './status-text.ts'
import { paintFor } from './terminal/terminal.ts'
import { example } from './program-name.ts'

export function registerStatus({ program, io, load }: Registration): void {
  program
    .command('status')
    .description('every zone and sink: state, lag, last error, days, gaps')
    .option('--json', 'as JSON')
    .addHelpText('after', example('status --json'))
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { status, state, hasStore } = await readStatus(load(command, 'routes'))
      if (!hasStore) io.stderr.write(`there is no store at ${state} yet: nothing was shipped; run makes it\n`)
      io.stdout.write(json === true ? jsonResult(status) : statusText(status, paintFor(io.stdout)))
    })
}
