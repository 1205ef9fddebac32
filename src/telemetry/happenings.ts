import type { Happening } from '../domain/happening.ts'
import type { Definitions } from './definition.ts'
import { apiHappenings } from './happenings/api.ts'
import { backgroundHappenings } from './happenings/background.ts'
import { failureHappenings } from './happenings/failures.ts'
import { fileHappenings } from './happenings/files.ts'
import { processHappenings } from './happenings/process.ts'
import { pumpHappenings } from './happenings/pump.ts'
import { sinkHappenings } from './happenings/sink.ts'
import { sweepHappenings } from './happenings/sweep.ts'

/** Every happening has a definition; the compiler refuses a missing one. */
export const happenings: Definitions<Happening['name']> = {
  ...processHappenings,
  ...backgroundHappenings,
  ...apiHappenings,
  ...pumpHappenings,
  ...sweepHappenings,
  ...failureHappenings,
  ...sinkHappenings,
  ...fileHappenings,
}
