import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packFingerprints, unpackFingerprints } from '../../src/domain/event/seen.ts'
import {
  createSeenMemory,
  packSightings,
  SeenWindow,
  type LoadSeen,
  type Sighting,
} from '../../src/pump/seen-window.ts'

/** What a store answers and is asked for, without the store. */
function createShelf() {
  const held = new Map<number, bigint[]>()
  const asked: number[] = []
  const loadSeen: LoadSeen = async (minutes) => {
    asked.push(...minutes)
    return new Map(
      minutes.flatMap((minute) => {
        const values = held.get(minute)
        return values === undefined ? [] : [[minute, packFingerprints(values)] as const]
      }),
    )
  }
  return {
    asked,
    loadSeen,
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
            const window = new SeenWindow(shelf.loadSeen)
            for (const page of pages) {
              const unseen = await window.unseenOf(page)
              through.push(...unseen.map(({ fingerprint, timeMs }) => `${fingerprint} ${timeMs}`))
              shelf.add(packSightings(unseen))
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
    const window = new SeenWindow(shelf.loadSeen)
    const page = [0, 1, 59_999, 60_000].map((timeMs) => ({ fingerprint: BigInt(timeMs), timeMs }))
    await window.unseenOf([...page, { fingerprint: 9n }])
    await window.unseenOf(page)
    expect(shelf.asked).toEqual([0, 1, -1])
  })

  it('discards fingerprints that were not committed', async () => {
    const shelf = createShelf()
    const window = new SeenWindow(shelf.loadSeen)
    const page = [{ fingerprint: 1n, timeMs: 1 }]
    expect(await window.unseenOf(page)).toEqual(page)
    expect(await window.unseenOf(page)).toEqual(page)
  })

  it('keeps the minutes of its page, however many events they have', async () => {
    const shelf = createShelf()
    const memory = createSeenMemory(10_000)
    const window = new SeenWindow(shelf.loadSeen, memory)
    for (let page = 0; page < 40; page++) {
      const events = Array.from({ length: 200 }, (_, index) => ({
        fingerprint: BigInt(page * 200 + index + 1),
        timeMs: (index % 40) * 60_000,
      }))
      expect(await window.unseenOf(events)).toHaveLength(200)
      window.add(events)
    }
    expect(shelf.asked).toHaveLength(40)
    // A set of 8,000 fingerprints has 16,384 places of 8 bytes.
    expect(memory.bytes).toBeGreaterThan(8 * 8_000)
    window[Symbol.dispose]()
    expect(memory.bytes).toBe(0)
  })

  it('has room for a day of a million events, whatever minutes its pages touch', async () => {
    const packed = packFingerprints(Array.from({ length: 700 }, (_, index) => BigInt(index + 1)))
    const asked: number[] = []
    const loadSeen: LoadSeen = async (minutes) => {
      asked.push(...minutes)
      return new Map(minutes.map((minute) => [minute, packed]))
    }
    const window = new SeenWindow(loadSeen)
    for (let page = 0; page < 8; page++) {
      const timeOf = (index: number) => ((index * 4 + page) % 1_440) * 60_000
      const events = Array.from({ length: 360 }, (_, index) => ({ fingerprint: 1n, timeMs: timeOf(index) }))
      expect(await window.unseenOf(events)).toEqual([])
    }
    expect(asked).toHaveLength(1_440)
  })

  it('shares its memory with the windows of other pumps, and keeps what its page needs', async () => {
    const shelf = createShelf()
    const memory = createSeenMemory(100_000)
    const [large, small] = [1, 2].map(() => new SeenWindow(shelf.loadSeen, memory))
    const page = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        fingerprint: BigInt(from + index + 1),
        timeMs: (from + index) * 60_000,
      }))
    await large!.unseenOf(page(0, 1_000))
    await small!.unseenOf(page(5_000, 3))
    expect(memory.bytes).toBeGreaterThan(memory.mostBytes)
    await large!.unseenOf(page(999, 1))
    expect(memory.bytes).toBeLessThanOrEqual(memory.mostBytes)
    const before = shelf.asked.length
    await large!.unseenOf(page(999, 1))
    await small!.unseenOf(page(5_000, 3))
    expect(shelf.asked.length).toBe(before)
    // What was dropped is read again.
    await large!.unseenOf(page(0, 1))
    expect(shelf.asked.length).toBe(before + 1)
  })
})
