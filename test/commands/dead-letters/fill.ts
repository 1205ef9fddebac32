import { join } from 'node:path'
import { systemClock } from '../../../src/clock.ts'
import { newCheckpoint } from '../../../src/domain/checkpoint.ts'
import type { Day } from '../../../src/domain/day.ts'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import { unknownOrdering } from '../../../src/domain/scan/ordering.ts'
import { openSqliteStore } from '../../setup/stores.ts'

export const day = '2026-11-19' as Day
export const at = Date.parse('2026-11-19T10:00:00.500Z')

/** One whose event cannot be read back. */
export function deadLetter(id: string, more: Partial<DeadLetter> = {}): DeadLetter {
  return { zone: 101, day, sink: 'siem', id, reason: 'refused', answer: 'no', at, event: '{}', ...more }
}

/** Gives the store of a workshop these dead letters. */
export async function fillWith(all: readonly DeadLetter[], folder: string): Promise<void> {
  const path = join(folder, 'var', 'shieldlog.db')
  const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1_000_000 })
  for (const deadLetters of Map.groupBy(all, ({ zone, day, sink }) => `${zone} ${day} ${sink}`).values()) {
    const { zone, day, sink, at } = deadLetters[0]!
    const stream = { zone, day: day as Day, sink }
    const { fence } = await store.ledger.take(stream, { id: 'test', schedule: false })
    const fresh = newCheckpoint(stream, at, unknownOrdering)
    const next = { ...fresh, commit: 1, counters: { ...fresh.counters, deadLetters: deadLetters.length } }
    await store.ledger.commit({ fence, basedOn: 0, next, seen: new Map(), deadLetters, gaps: [] })
    await store.ledger.release(stream, fence)
  }
  await store.close()
}
