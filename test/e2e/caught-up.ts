import { existsSync } from 'node:fs'
import { systemClock } from '../../src/clock.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { openSqliteStore } from '../setup/stores.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import { paceOf } from './next-due.ts'
import { keysOf, linesBelow } from './shipped.ts'
import { readableDays, zones, type Workplace } from './workplace.ts'

/** What the store knows of these zones and days in a sink; nothing where there is no store yet. */
async function checkpointsOf(
  { database }: Workplace,
  { sink, of, days }: Required<Extent>,
): Promise<readonly Checkpoint[]> {
  if (!existsSync(database)) return []
  const store = await openSqliteStore({ path: database, clock: systemClock, deadLetterMaxBytes: 1 })
  try {
    return (await store.catalogue.checkpoints()).filter(
      ({ stream }) => stream.sink === sink && of.includes(stream.zone) && days.includes(stream.day),
    )
  } finally {
    await store.close()
  }
}

interface Extent {
  readonly sink?: string
  readonly path?: string
  readonly of?: readonly number[]
  readonly days?: readonly string[]
}

/**
 * Waits until a file sink holds as many lines as the API has entries, and the store knows it: a line that is not
 * committed yet is taken back when the process is stopped.
 */
export async function caughtUp(place: Workplace, child: TestProcess, given: Extent = {}): Promise<void> {
  const extent = { sink: 'archive', path: place.events, of: zones, days: readableDays(), ...given }
  const places = extent.of.flatMap((zone) => extent.days.map((day) => `${zone}/${day}/`))
  const lines = () =>
    linesBelow(extent.path).filter(({ key }) => places.some((each) => key.startsWith(each))).length
  await waitFor(
    async () => {
      const wanted = keysOf(place.simulator, extent.of, extent.days).length
      if (lines() !== wanted) return false
      let delivered = 0
      for (const { counters } of await checkpointsOf(place, extent)) delivered += counters.delivered
      return delivered === wanted
    },
    {
      what: () => `all lines, with ${lines()}: ${child.stderr().slice(-2000)}`,
      pace: async (sinceMs) => paceOf(place, await checkpointsOf(place, extent), sinceMs),
      everyMs: 100,
    },
  )
}
