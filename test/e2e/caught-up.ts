import { existsSync } from 'node:fs'
import { policyOf } from '../../src/config/policy.ts'
import { loadConfig } from '../../src/config/load.ts'
import { dueAt, nextDue } from '../../src/domain/plan/due.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { inStore } from '../setup/stores.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor, type Pace } from '../setup/wait-for.ts'
import { countOf, linesBelow } from './shipped.ts'
import { readableDays, zones, type Workplace } from './workplace.ts'

/** What the store knows of these zones and days in a sink; nothing where there is no store yet. */
async function checkpointsOf(
  { database }: Workplace,
  { sink, of, days }: Required<Extent>,
): Promise<readonly Checkpoint[]> {
  if (!existsSync(database)) return []
  const all = await inStore({ database }, ({ catalogue }) => catalogue.checkpoints())
  return all.filter(
    ({ stream }) => stream.sink === sink && of.includes(stream.zone) && days.includes(stream.day),
  )
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
      const wanted = countOf(place.simulator, extent.of, extent.days)
      let delivered = 0
      for (const { counters } of await checkpointsOf(place, extent)) delivered += counters.delivered
      return delivered === wanted && lines() === wanted
    },
    {
      what: () => `all lines, with ${lines()}: ${child.stderr().slice(-2000)}`,
      pace: async (sinceMs) => paceOf(place, await checkpointsOf(place, extent), sinceMs),
      everyMs: 100,
    },
  )
}

/**
 * For a wait until these streams have delivered all that the API has: how far they are, and when the last of those that
 * lack events is read next, as the program itself plans it. That may be much later than a poll: where the ordering of a
 * listing is unknown, five times the last scan's length.
 */
export function paceOf(
  { configFile, simulator }: Pick<Workplace, 'configFile' | 'simulator'>,
  checkpoints: readonly Checkpoint[],
  sinceMs: number,
): Pace {
  const { config } = loadConfig({ argv: { config: configFile }, needs: 'nothing' })
  const [policy, nowMs] = [policyOf(config), Date.now()]
  let delivered = 0
  for (const { counters } of checkpoints) delivered += counters.delivered
  const behind = checkpoints.filter(
    ({ stream: { zone, day }, counters }) => counters.delivered < simulator.count(zone, day),
  )
  // What a scan that began since has not found, waiting for another one would not bring.
  const reread = behind.filter(({ lastFull }) => (lastFull?.beganAtMs ?? 0) >= sinceMs).length
  const dues = behind.map((each) =>
    dueAt(nextDue({ stream: each.stream, checkpoint: each }, nowMs, policy), each.trouble, nowMs),
  )
  return {
    done: `${delivered} delivered, ${reread} of ${behind.length} that lack events read again`,
    dueAtMs: Math.max(nowMs, ...dues.filter(Number.isFinite)),
  }
}
