import { openBackfillDesk, type BackfillDesk } from '../../assemble/tasks/backfill.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import { createBackfillView, type BackfillView } from './view.ts'
import type { Io } from '../io.ts'

/** Logs less than a run: the progress display shows what happens. */
export async function withDesk<Value>(
  config: Config,
  io: Io,
  use: (desk: BackfillDesk, view: BackfillView) => Promise<Value>,
): Promise<Value> {
  const view = createBackfillView(config, io, systemClock)
  const { level } = config.log
  const desk = await openBackfillDesk(config, {
    logLevel: level === 'info' ? 'warn' : level,
    ...(view.log !== undefined && { log: view.log }),
  })
  try {
    return await use(desk, view)
  } finally {
    await desk.close()
  }
}
