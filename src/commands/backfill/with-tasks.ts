import { openBackfillTasks, type BackfillTasks } from '../../assemble/tasks/backfill.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import { createBackfillView, type BackfillView } from './view.ts'
import type { Io } from '../io.ts'

/** Logs less than a run: the progress display shows what happens. */
export async function withTasks<Value>(
  config: Config,
  io: Io,
  use: (tasks: BackfillTasks, view: BackfillView) => Promise<Value>,
): Promise<Value> {
  const view = createBackfillView(config, io, systemClock)
  const { level } = config.log
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
