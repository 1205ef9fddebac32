import { existsSync } from 'node:fs'
import { systemClock } from '../../src/clock.ts'
import { openSqliteStore } from '../../src/state/sqlite/store.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import { keysOf, linesBelow } from './shipped.ts'
import { readableDays, zones, type Workplace } from './workplace.ts'

/** How many events of these zones and days the store says were delivered to a sink. */
async function deliveredTo({ database }: Workplace, { sink, of, days }: Required<Extent>): Promise<number> {
  if (!existsSync(database)) return 0
  const store = await openSqliteStore({ path: database, clock: systemClock, deadLetterMaxBytes: 1 })
  try {
    let delivered = 0
    for (const { stream, counters } of await store.list()) {
      if (stream.sink === sink && of.includes(stream.zone) && days.includes(stream.day))
        delivered += counters.delivered
    }
    return delivered
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
      return lines() === wanted && (await deliveredTo(place, extent)) === wanted
    },
    {
      what: () => `all lines, with ${lines()}: ${child.stderr().slice(-2000)}`,
      timeoutMs: 30_000,
      everyMs: 100,
    },
  )
}
