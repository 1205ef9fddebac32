import type { Command } from 'commander'
import { withKnownZones } from '../../assemble/zones-for-commands.ts'
import type { BackfillTasks } from '../../assemble/backfill.ts'
import type { Backfill } from '../../domain/plan/backfill.ts'
import { listText } from './text.ts'
import { serveBackfill } from './serve.ts'
import { loadToBackfill, withTasks } from './with-tasks.ts'
import { exitCodes } from '../io.ts'
import { jsonResult } from '../terminal/json-result.ts'
import type { Registration } from '../registration.ts'
import { unknownName } from '../selection.ts'
import { paintFor } from '../terminal/terminal.ts'
import { example } from '../program-name.ts'

const changes = [
  { name: 'pause', state: 'paused', description: 'pause a backfill until it is resumed' },
  { name: 'cancel', state: 'cancelled', description: 'end a backfill; the events that it shipped stay' },
] as const

export function registerBackfillChanges(backfill: Command, { io, exit, load }: Registration): void {
  backfill
    .command('list')
    .description('backfills of the last 90 days, the oldest first')
    .option('--json', 'as JSON, with progress by day')
    .addHelpText('after', example('backfill list'))
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { config } = load(command, 'state')
      const backfills = await withTasks(config, io, (tasks) => tasks.statuses())
      const { width } = paintFor(io.stdout)
      io.stdout.write(json === true ? jsonResult({ backfills }) : listText(backfills, width))
    })
  for (const { name, state, description } of changes) {
    backfill
      .command(name)
      .description(description)
      .argument('<id>', 'as `backfill list` shows it')
      .addHelpText('after', example(`backfill ${name} 5f0c1d2e3a`))
      .action(async (id: string, _: unknown, command: Command) => {
        const { config } = load(command, 'state')
        const code = await withTasks(config, io, async (tasks, view) => {
          const found = await find(tasks, id)
          if (await tasks.change(found.id, state)) return exitCodes.done
          view.say(`backfill ${id} is already ${(await find(tasks, id)).state}`)
          return exitCodes.failed
        })
        if (code === exitCodes.done) io.stdout.write(`${id} ${state}\n`)
        exit(code)
      })
  }
  backfill
    .command('resume')
    .description('continue a backfill that was paused or stopped')
    .argument('<id>', 'as `backfill list` shows it')
    .option('--watch', 'show progress until it is done')
    .addHelpText('after', example('backfill resume 5f0c1d2e3a --watch'))
    .action(async (id: string, _: unknown, command: Command) => {
      const { config } = await withKnownZones(await loadToBackfill(load, command), io.signal)
      // `backfill` itself has the option too, and parses it wherever it is.
      const { watch = false } = command.optsWithGlobals<{ watch?: boolean }>()
      const code = await withTasks(config, io, async (tasks, view) => {
        await find(tasks, id)
        if (await tasks.change(id, 'running'))
          return serveBackfill({ id, watch, said: `${id} running`, config, tasks, view, io })
        view.say(`backfill ${id} is already ${(await find(tasks, id)).state}`)
        return exitCodes.failed
      })
      exit(code)
    })
}

/** Throws UsageError that names the known ids. */
async function find(tasks: BackfillTasks, id: string): Promise<Backfill> {
  const all = await tasks.all()
  const found = all.find((each) => each.id === id)
  if (found !== undefined) return found
  const known = all.map((each) => each.id)
  throw unknownName({ option: 'backfill', name: id, what: 'is not known', known })
}
