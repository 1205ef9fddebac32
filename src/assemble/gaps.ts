import { systemClock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { Gap } from '../domain/gap.ts'
import { withStoreToLook } from './state.ts'

interface GapTasks {
  list(): Promise<Gap[]>
  /** Returns how many were not acknowledged before. */
  acknowledge(gaps: readonly Gap[]): Promise<number>
}

/** Works on the existing store; there are no gaps where there is none. Throws Failure. */
export function withGapTasks<Result>(
  config: Config,
  work: (tasks: GapTasks) => Promise<Result>,
): Promise<Result> {
  return withStoreToLook(config, systemClock, ({ catalogue }) =>
    work({
      list: () => catalogue.gaps(),
      acknowledge: (gaps) => catalogue.acknowledgeGaps(gaps, Math.floor(systemClock.now())),
    }),
  )
}
