import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packFingerprints, unpackFingerprints } from '../../src/domain/event/seen.ts'
import type { Ledger } from '../../src/ports/ledger.ts'
import { createSeenWindow, type Sighting } from '../../src/pump/seen-window.ts'
import { stream } from '../domain/builders.ts'

/** What a store answers and is asked for, without the store. */
function createShelf() {
  const held = new Map<number, bigint[]>()
  const asked: number[] = []
  const ledger: Pick<Ledger, 'loadSeen'> = {
    async loadSeen(_, minutes) {
      asked.push(...minutes)
      return new Map(
        minutes.flatMap((minute) => {
          const values = held.get(minute)
          return values === undefined ? [] : [[minute, packFingerprints(values)] as const]
        }),
      )
    },
  }
  return {
    asked,
    ledger: ledger as Ledger,
    add(packed: ReadonlyMap<number, Uint8Array>) {
      for (const [minute, bytes] of packed)
        held.set(minute, [...(held.get(minute) ?? []), ...unpackFingerprints(bytes)])
    },
  }
}

/** The same event has the same time, or none. */
const sighting: fc.Arbitrary<Sighting> = fc.bigInt({ min: 0n, max: 40n }).map((fingerprint) => ({
  fingerprint,
  ...(fingerprint % 5n !== 0n && { timeMs: Number(fingerprint) * 7_000 }),
}))

describe('the seen window of a pump', () => {
  it('passes each event once, on whatever pages and in whatever pumps it appears', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.array(sighting), { maxLength: 5 }), { maxLength: 4 }),
        async (pumps) => {
          const shelf = createShelf()
          const through: string[] = []
          for (const pages of pumps) {
            const window = createSeenWindow(shelf.ledger, stream)
            for (const page of pages) {
              const unseen = await window.unseenOf(page)
              through.push(...unseen.map(({ fingerprint, timeMs }) => `${fingerprint} ${timeMs}`))
              shelf.add(window.pack(unseen))
              window.add(unseen)
            }
          }
          const all = pumps.flat(2).map(({ fingerprint, timeMs }) => `${fingerprint} ${timeMs}`)
          expect(new Set(through)).toEqual(new Set(all))
          expect(through).toHaveLength(new Set(all).size)
        },
      ),
    )
  })

  it('reads from the store only the minutes of a page, and each once', async () => {
    const shelf = createShelf()
    const window = createSeenWindow(shelf.ledger, stream)
    const page = [0, 1, 59_999, 60_000].map((timeMs) => ({ fingerprint: BigInt(timeMs), timeMs }))
    await window.unseenOf([...page, { fingerprint: 9n }])
    await window.unseenOf(page)
    expect(shelf.asked).toEqual([0, 1, -1])
  })

  it('discards fingerprints that were not committed', async () => {
    const shelf = createShelf()
    const window = createSeenWindow(shelf.ledger, stream)
    const page = [{ fingerprint: 1n, timeMs: 1 }]
    expect(await window.unseenOf(page)).toEqual(page)
    expect(await window.unseenOf(page)).toEqual(page)
  })

  it('stays bounded and correct when pages have more and more minutes', async () => {
    const shelf = createShelf()
    const window = createSeenWindow(shelf.ledger, stream)
    const pageOf = (index: number) =>
      Array.from({ length: 1_000 }, (_, number) => {
        const minute = index * 1_000 + number
        return { fingerprint: BigInt(minute), timeMs: minute * 60_000 }
      })
    for (let index = 0; index < 12; index++) {
      const unseen = await window.unseenOf(pageOf(index))
      shelf.add(window.pack(unseen))
      window.add(unseen)
    }
    const before = shelf.asked.length
    expect(await window.unseenOf(pageOf(0))).toEqual([])
    expect(shelf.asked.length - before).toBe(1_000)
  })
})
