import type { Clock } from '../../ports.ts'
import { numberOf } from './answer.ts'
import type { Keys } from './keys.ts'
import type { Link } from './link.ts'

/** A holder that was heard from more recently than this keeps its streams. */
const heardWithinMs = 20_000
/** A holder that was silent for this long has no stream any more. */
const keptMs = 3_600_000

export interface Holders {
  hear(id: string): Promise<void>
  /** Until when (by this host's clock) a live holder keeps its streams; undefined for a dead one. */
  keptUntil(id: string): Promise<number | undefined>
}

/** `now` stands for the clock of Redis, which decides otherwise. */
export function createHolders(link: Link, keys: Keys, clock: Clock, now?: () => number): Holders {
  const instant = () => (now === undefined ? '' : String(now()))
  return {
    async hear(id) {
      await link.script('hear-holder', [keys.holder(id)], [instant(), keptMs])
    },
    async keptUntil(id) {
      const left = numberOf(await link.script('ask-holder', [keys.holder(id)], [instant(), heardWithinMs]))
      return left > 0 ? clock.now() + left : undefined
    },
  }
}
