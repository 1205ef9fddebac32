import type { Delivery } from '../../src/domain/delivery.ts'
import type { Event } from '../../src/domain/event.ts'
import { Failure } from '../../src/domain/failure.ts'
import { placementOf } from '../../src/domain/again.ts'
import { createStage, eventAt, listingOf, type Stage } from './stage.ts'

export const wish = { id: 'w1', again: 'ship' } as const
export const backfill = { lane: 'backfill', wish } as const

/** A sink with a part for each delivery; those that wait for their place too. */
export async function createFiles(size: number) {
  const stage = await createStage()
  const listing: Event[] = []
  const lines = new Map<string, string[]>()
  const faults = { delivery: 0, expired: 0, whole: true }
  let discarded = 0
  function write(kind: string, events: readonly Event[]): Delivery {
    if (faults.delivery > 0) {
      faults.delivery--
      throw new Failure('retry', 'disk_full', 'no space left')
    }
    const part = `${kind}${lines.size}`
    lines.set(
      part,
      events.map(({ id }) => id),
    )
    const receipt = { writer: 'w', part, bytes: events.length, lines: events.length }
    return { refusals: [], receipts: [receipt], bytes: events.length }
  }
  stage.script.deliver = async (events) => write('seen', events)
  stage.script.open = async ({ staged }) =>
    staged === undefined
      ? {}
      : {
          staging: {
            isWhole: faults.whole,
            deliver: async (events) => write('waiting', events),
            discard: async () => void discarded++,
          },
        }
  stage.script.answer = (request, number) => {
    if (request.cursor !== null && faults.expired > 0) {
      faults.expired--
      return new Failure('retry', 'cursor_expired', 'gone')
    }
    return listingOf(listing, size)(request, number)
  }
  return {
    stage,
    listing,
    faults,
    discarded: () => discarded,
    /** What readers see, by what is committed. */
    async seen(): Promise<string[]> {
      const checkpoint = await stage.read()
      if (checkpoint === undefined) return []
      return placementOf(checkpoint).receipts.flatMap(({ part }) => lines.get(part) ?? [])
    },
    async parts(): Promise<string[]> {
      return ((await stage.read())?.receipts ?? []).map(({ part }) => part)
    },
  }
}

export function page(count: number, from = 0): Event[] {
  return Array.from({ length: count }, (_, index) => eventAt(from + index))
}

/** Until the wish has its answer. */
export async function pumpToTheEnd(stage: Stage): Promise<void> {
  for (let tries = 0; tries < 40; tries++) {
    if ((await stage.read())?.lastAgain?.wish === wish.id) return
    await stage.pump(backfill)
  }
  throw new Error('the wish is never answered')
}
