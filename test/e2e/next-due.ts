import { policyOf } from '../../src/config/planned.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import { dueAt, nextDue } from '../../src/domain/plan/due.ts'
import type { Pace } from '../setup/wait-for.ts'
import type { Workplace } from './workplace.ts'

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
