import { openBackfillTasks, shippingProcess, type BackfillTasks } from '../../assemble/backfill.ts'
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import { createBackfillView, type BackfillView } from './view.ts'
import type { Loaded } from '../../config/load/load.ts'
import type { Io } from '../io.ts'
import type { Registration } from '../registration.ts'

/** Where a process ships on the state, the backfill is left to it; else this command delivers, with the secrets of sinks. */
export async function loadToBackfill(load: Registration['load'], command: Command): Promise<Loaded> {
  const loaded = load(command, 'comparison')
  return (await shippingProcess(loaded.config)) === undefined ? load(command, 'delivery') : loaded
}

/**
 * Logs less than a run: the progress display shows what happens. Both are text for people, unless the configuration asks
 * for JSON: then both are JSON lines.
 */
export async function withTasks<Value>(
  { log, ...others }: Config,
  io: Io,
  use: (tasks: BackfillTasks, view: BackfillView) => Promise<Value>,
): Promise<Value> {
  const { level, format } = log
  const config: Config = { ...others, log: { ...log, format: format === 'json' ? 'json' : 'pretty' } }
  const view = createBackfillView(config, io, systemClock)
  const tasks = await openBackfillTasks(config, {
    logLevel: level === 'info' ? 'warn' : level,
    ...(view.log !== undefined && { log: view.log }),
  })
  try {
    return await use(tasks, view)
  } finally {
    await tasks.close()
  }
}
