import { expect, test } from 'vitest'
import { entryChanges, type EntryChange } from '../../src/simulator/entries/changes.ts'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import { startAsking, today } from './asking.ts'

const changes = Object.keys(entryChanges) as EntryChange[]

/** Every option of `simulate` that changes what is listed, or how, with values that are not its default. */
const values: readonly SimulatorOptions[] = [
  { pageSize: 2 },
  { leastPageSize: 1 },
  { order: 'newest-first' },
  { order: 'unordered' },
  { tokens: 'snapshot' },
  { tokens: 'anchor' },
  { firstPage: 'empty' },
  { firstPage: 'any' },
  { firstPage: 'a/b ?' },
  { lastToken: 'null' },
  { lastToken: 'repeated' },
  { lastToken: 'real' },
  { oldDays: 'empty' },
  { tokenSeconds: 1 },
  { requestsPerMinute: 1000 },
  { clockOffsetSeconds: -1e6 },
  { compress: true },
  { entryBytes: 1 },
  { entryBytes: 5000 },
  { live: { ratePerSecond: 1 } },
  { lateSeconds: 86_400 },
  { startedAt: Date.parse(`${today}T11:59:00.000Z`) },
  ...changes.map((name) => ({ changeEntries: [name] })),
]

const pairs = values.flatMap((one, index) => values.slice(index + 1).map((other) => ({ ...one, ...other })))
// In both orders, and with itself: each changes what the one before it has made.
const pairsOfChanges = changes.flatMap((one) =>
  changes.map((other): SimulatorOptions => ({ changeEntries: [one, other] })),
)

test('every two options go together: a day is listed to its end with all its entries, each once', async () => {
  for (const options of [...pairs, ...pairsOfChanges]) {
    const { simulator, scan } = await startAsking({ pageSize: 5, days: 12, ...options })
    const { firstPage = 'omit' } = options
    const first = { omit: null, any: null, empty: '' }[firstPage]
    const pages = await scan(first === undefined ? firstPage : first).catch((error: unknown) => error)
    expect(pages, JSON.stringify(options)).toBeInstanceOf(Array)
    const listed = (pages as Awaited<ReturnType<typeof scan>>).flatMap(({ logs }) => logs)
    expect(listed, JSON.stringify(options)).toHaveLength(simulator.count(101, today))
    const ids = new Set(simulator.entries(101, today).map(({ logId }) => logId))
    const isSame =
      options.changeEntries !== undefined || listed.every((each) => each !== null && ids.delete(each.logId))
    expect(isSame, JSON.stringify(options)).toBe(true)
    await simulator.close()
  }
})
