import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { countMinute, unpackFingerprints } from '../../src/domain/event/seen.ts'
import { compareWithLedger } from '../../src/tasks/audit/compare.ts'
import { FoundEvents } from '../../src/days/found-events.ts'
import { packSightings, SeenWindow } from '../../src/pump/seen-window.ts'
import { eventsOf } from '../../src/shield/entries/to-event.ts'
import { identitiesOf, type OwnIds } from '../../src/shield/entries/identities.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { stream } from '../domain/builders.ts'

const redactor = createRedactor('off')
const zone = { id: stream.zone, name: 'shop' }

/** Entries of one minute with the same id and time, and other content; and one of another id. */
const entries = ['x', 'y', 'z'].map((log) => ({ logId: 'a', timestamp: 1_790_000_000_000, log }))
const other = { logId: 'b', timestamp: 1_790_000_000_000, log: 'x' }
type Entry = typeof other

/** One reading of a listing: which entries it shows, in which order, and where its pages end. */
interface Reading {
  readonly shown: readonly Entry[]
  readonly ends: ReadonlySet<number>
}

const anyReading: fc.Arbitrary<Reading> = fc.record({
  shown: fc.shuffledSubarray([...entries, other, entries[0]!], { minLength: 1 }),
  ends: fc.uniqueArray(fc.nat({ max: 4 })).map((ends) => new Set(ends)),
})

function together(shown: readonly Entry[]): Reading {
  return { shown, ends: new Set() }
}

/** The pages of a reading; each knows the end of the one before, as in the program, unless that was forgotten. */
function* pagesOf({ shown, ends }: Reading, remembers: boolean): Generator<Event[]> {
  let page: Entry[] = []
  let before: OwnIds | undefined
  for (const [index, entry] of shown.entries()) {
    page.push(entry)
    if (index + 1 < shown.length && !ends.has(index)) continue
    const { identities, end } = identitiesOf(page, before)
    yield eventsOf(page, zone, redactor, identities)
    before = remembers ? end() : undefined
    page = []
  }
}

function createStream() {
  const held = new Map<number, Uint8Array>()
  const delivered: { readonly id: string; readonly content: string }[] = []
  const ledger = {
    loadSeen: async (_: unknown, minutes: readonly number[]) =>
      new Map(minutes.flatMap((minute) => (held.has(minute) ? [[minute, held.get(minute)!] as const] : []))),
  }
  const minutes = () => [...held].map(([minute, bytes]) => countMinute(minute, bytes))

  async function read(reading: Reading, remembers = true): Promise<void> {
    const window = new SeenWindow((minutes) => ledger.loadSeen(stream, minutes))
    for (const page of pagesOf(reading, remembers)) {
      const unseen = await window.unseenOf(page)
      for (const event of unseen) delivered.push({ id: event.id, content: JSON.stringify(event.raw()) })
      for (const [minute, packed] of packSightings(unseen))
        held.set(minute, Buffer.concat([held.get(minute) ?? new Uint8Array(), packed]))
      window.add(unseen)
    }
  }

  async function audit(reading: Reading): Promise<{ missing: number; extra: number }> {
    const listing = new FoundEvents()
    const seen = new SeenWindow((minutes) => ledger.loadSeen(stream, minutes))
    const own = { seen, noted: 0 }
    for (const page of pagesOf(reading, true)) {
      for (const event of page) listing.add(event)
      await listing.noteUnseen(page, own)
    }
    const sides = { before: minutes(), after: minutes(), load: async () => held }
    const sum = { missing: 0, extra: 0 }
    for (const { unknown, lacking } of await compareWithLedger(listing, sides)) {
      sum.missing += unknown
      sum.extra += lacking
    }
    return sum
  }

  return { delivered, read, audit, count: () => [...held.values()].flatMap(unpackFingerprints).length }
}

const contentsIn = (shown: readonly Entry[]) => new Set(shown.map((entry) => JSON.stringify(entry)))

describe('entries with the same id and time and other content', () => {
  it('are each delivered once where one page shows them, however later readings cut and order them', async () => {
    await fc.assert(
      fc.asyncProperty(anyReading, fc.array(anyReading, { maxLength: 5 }), async ({ shown }, later) => {
        const { delivered, read, audit, count } = createStream()
        const isThere = (entry: Entry) => contentsIn(shown).has(JSON.stringify(entry))
        await read(together(shown))
        for (const reading of later) {
          const known = { ...reading, shown: reading.shown.filter(isThere) }
          await read(known)
          await read(known, false)
        }
        expect(new Set(delivered.map(({ content }) => content))).toEqual(contentsIn(shown))
        expect(delivered).toHaveLength(contentsIn(shown).size)
        expect(count()).toBe(delivered.length)
        expect(await audit(together(shown.toReversed()))).toEqual({ missing: 0, extra: 0 })
        const apart = { shown, ends: new Set([0, 1, 2, 3, 4]) }
        expect(await audit(apart)).toEqual({ missing: 0, extra: 0 })
      }),
    )
  })

  it('are never lost once a page has shown them together, and no id is delivered twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyReading, { maxLength: 5 }), fc.boolean(), async (before, remembers) => {
        const { delivered, read, audit, count } = createStream()
        for (const reading of before) await read(reading, remembers)
        await read(together([...entries, other]))
        expect(new Set(delivered.map(({ content }) => content))).toEqual(contentsIn([...entries, other]))
        expect(new Set(delivered.map(({ id }) => id)).size).toBe(delivered.length)
        // At most one more: the one that was delivered under the id that they share.
        expect(delivered.length).toBeLessThanOrEqual(contentsIn([...entries, other]).size + 1)
        expect(count()).toBe(delivered.length)
        expect(await audit(together([other, ...entries]))).toEqual({ missing: 0, extra: 0 })
      }),
    )
  })

  it('are each delivered once where one page ends between them', async () => {
    const [x, y] = entries
    for (const shown of [
      [x!, y!],
      [y!, x!],
    ]) {
      const { delivered, read, audit } = createStream()
      const cut = { shown, ends: new Set([0]) }
      await read(cut)
      await read(cut)
      expect(delivered.map(({ id }) => id)).toEqual(['a', expect.stringMatching(/^a~/)])
      expect(await audit(cut)).toEqual({ missing: 0, extra: 0 })
    }
  })

  it('are missing in an audit that reads both where only one was delivered', async () => {
    const { read, audit } = createStream()
    await read({ shown: entries.slice(0, 1), ends: new Set() })
    expect(await audit(together(entries.slice(0, 2)))).toEqual({ missing: 1, extra: 0 })
  })
})
