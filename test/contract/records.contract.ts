import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Records, Write } from '../../src/ports/records.ts'
import type { FakeClock } from '../fakes/fake-clock.ts'

export interface OpenedRecords {
  readonly records: Records
  /** Opens the same records once more, as another process would; the first ones stay open. */
  readonly reopen: () => Promise<Records>
  /** The time of the store. */
  readonly clock: FakeClock
  /** Remembers the state of the store; the returned function restores it. */
  readonly backUp: () => Promise<() => Promise<void>>
  /** Closes everything that was opened and removes it. */
  readonly close: () => Promise<void>
}

type Page = readonly (readonly [key: string, value: Uint8Array])[]

const text = (value: Uint8Array | undefined) => value && Buffer.from(value).toString()
const bytes = (...values: readonly number[]) => Uint8Array.from(values)
const range = (count: number) => Array.from({ length: count }, (_, at) => at)

/** The behaviours of every adapter of the port. */
export function recordsContract(name: string, open: () => Promise<OpenedRecords>): void {
  describe(`${name} as records`, () => {
    let opened: OpenedRecords
    let records: Records
    beforeEach(async () => {
      opened = await open()
      records = opened.records
    })
    afterEach(() => opened.close())

    const put = (collection: string, values: Readonly<Record<string, Uint8Array | string>>) =>
      records.write({
        when: [],
        put: Object.entries(values).map(([key, value]) => [collection, key, value] as const),
      })
    const valuesOf = async (collection: string, keys: readonly string[]) =>
      (await records.read({ [collection]: keys })).found[collection]
    const textsOf = async (collection: string, keys: readonly string[]) =>
      (await valuesOf(collection, keys))?.map(text)
    const scanned = async (collection: string, atOnce = 100): Promise<Map<string, Uint8Array>> => {
      const found = new Map<string, Uint8Array>()
      for await (const page of records.scan(collection, atOnce))
        for (const [key, value] of page) found.set(key, value)
      return found
    }

    describe('read', () => {
      it('gives records of several collections in the order of their keys, and none for absent ones', async () => {
        await put('heads', { a: '1', b: '2' })
        await put('seen:101/2026-11-20/archive', { b3: 'x' })
        const { found } = await records.read({
          heads: ['b', 'c', 'a', 'b'],
          'seen:101/2026-11-20/archive': ['b4', 'b3'],
          nothing: ['a'],
          unasked: [],
        })
        expect(found.heads.map(text)).toEqual(['2', undefined, '1', '2'])
        expect(found['seen:101/2026-11-20/archive'].map(text)).toEqual([undefined, 'x'])
        expect(found.nothing).toEqual([undefined])
        expect(found.unasked).toEqual([])
      })

      it('answers for more than 500 keys', async () => {
        await put('heads', Object.fromEntries(range(1_200).map((at) => [`k${at}`, String(at)])))
        const found = await textsOf(
          'heads',
          range(1_300).map((at) => `k${at}`),
        )
        expect(found).toEqual(range(1_300).map((at) => (at < 1_200 ? String(at) : undefined)))
      })

      it('keeps every byte, and an empty record apart from none', async () => {
        const all = Uint8Array.from(range(256))
        await put('heads', { all, empty: '', emptyBytes: new Uint8Array(), text: 'é𝄞\n"' })
        const keys = ['all', 'empty', 'emptyBytes', 'text', 'absent']
        const text = new TextEncoder().encode('é𝄞\n"')
        expect(await valuesOf('heads', keys)).toEqual([all, bytes(), bytes(), text, undefined])
      })

      it('takes keys of any letters, and each as another one', async () => {
        const keys = ['a', 'A', 'a ', '["id \\" \\\\ é","2026"]', '𝄞', '%', '_', '*', '?', '[a]']
        await put('letters', Object.fromEntries(keys.map((key) => [key, `=${key}`])))
        expect(await textsOf('letters', keys)).toEqual(keys.map((key) => `=${key}`))
        expect([...(await scanned('letters')).keys()].sort()).toEqual([...keys].sort())
      })

      it('gives bytes that the caller may change, as it may change what it wrote', async () => {
        const value = Buffer.from('abc')
        await put('heads', { value })
        value[0] = 0
        for (const found of (await valuesOf('heads', ['value'])) ?? []) found?.fill(0)
        for (const found of (await scanned('heads')).values()) found.fill(0)
        for (const found of (await records.readRuns('heads', ['value'])).flat()) found.fill(0)
        expect(await textsOf('heads', ['value'])).toEqual(['abc'])
      })

      it('tells the time of the store, taken after the records', async () => {
        await put('holders', { one: '' })
        const reading = records.read({ holders: ['one'] })
        const stamping = records.write({ when: [], stamp: [['holders', 'one']] })
        const { nowUs, found } = await reading
        await stamping
        const stamped = text(found.holders[0]) ?? ''
        expect(nowUs).toBe(opened.clock.now() * 1_000)
        if (stamped !== '') expect(nowUs).toBeGreaterThanOrEqual(Number(stamped))
      })
    })

    describe('readRuns', () => {
      it('gives each record of a run in its order, up to the first that is absent', async () => {
        const long = range(40).map((at) => [at === 0 ? '7' : `7.${at}`, `v${at}`] as const)
        await put('seen:s', {
          ...Object.fromEntries(long),
          '70': 'other',
          '71.1': 'without its first',
          '8': 'a',
          '8.1': '',
          '8.3': 'behind a hole',
        })
        const runs = await records.readRuns('seen:s', ['8', '7', '9', '71', '70'])
        expect(runs.map((run) => run.map(text))).toEqual([
          ['a', ''],
          range(40).map((at) => `v${at}`),
          [],
          [],
          ['other'],
        ])
        expect(await records.readRuns('nothing', ['1'])).toEqual([[]])
        expect(await records.readRuns('seen:s', [])).toEqual([])
      })

      it('reads 1,440 runs at once', async () => {
        const keys = range(1_440).map(String)
        await put(
          'seen:s',
          Object.fromEntries(
            keys.flatMap((key) => [
              [key, key],
              [`${key}.1`, 'more'],
            ]),
          ),
        )
        const runs = await records.readRuns('seen:s', keys)
        expect(runs.map((run) => run.map(text))).toEqual(keys.map((key) => [key, 'more']))
      })
    })

    describe('scan', () => {
      it('gives all records of a collection in pages, and those of no other', async () => {
        const values = Object.fromEntries(range(1_500).map((at) => [`k${at}`, `v${at}`.padEnd(80)]))
        await put('heads', values)
        await put('heads2', { other: '' })
        let pages = 0
        for await (const page of records.scan('heads', 100)) pages += page.length > 0 ? 1 : 0
        expect(pages).toBeGreaterThan(10)
        const found = [...(await scanned('heads'))].map(([key, value]) => [key, text(value)] as const)
        expect(Object.fromEntries(found)).toEqual(values)
        expect(await scanned('nothing')).toEqual(new Map())
      })

      it('gives what is there all the time, also while records come and go', async () => {
        const keys = range(2_000).map((at) => `k${at}`)
        const value = 'v'.repeat(80)
        await put('heads', Object.fromEntries(keys.map((key) => [key, value])))
        const found = new Set<string>()
        let turn = 0
        for await (const page of records.scan('heads', 50)) {
          for (const [key] of page) found.add(key)
          const gone = keys[turn * 2]!
          await records.write({
            when: [],
            remove: [['heads', gone]],
            put: range(30).map((at) => ['heads', `new${turn}.${at}`, value] as const),
          })
          turn++
        }
        const stayed = keys.filter((_, at) => at >= turn * 2 || at % 2 === 1)
        expect(stayed.filter((key) => !found.has(key))).toEqual([])
      })

      it('lets the event loop turn between pages', async () => {
        await put('heads', Object.fromEntries(range(1_000).map((at) => [`k${at}`, 'v'.repeat(80)])))
        let turns = 0
        let isDone = false
        const count = (): void => {
          turns++
          if (!isDone) setImmediate(count)
        }
        setImmediate(count)
        let pages = 0
        for await (const page of records.scan('heads', 100)) pages += page.length > 0 ? 1 : 0
        isDone = true
        expect(turns).toBeGreaterThanOrEqual(pages)
      })

      it('can be left before its end', async () => {
        await put('heads', Object.fromEntries(range(300).map((at) => [`k${at}`, 'v'.repeat(80)])))
        const pages: Page[] = []
        for await (const page of records.scan('heads', 10)) {
          pages.push(page)
          break
        }
        expect(pages).toHaveLength(1)
        expect(await put('heads', { k1: 'changed' })).toMatchObject({ outcome: 'done' })
      })
    })

    describe('write', () => {
      it('writes all of it where its conditions hold, absence and emptiness among them', async () => {
        await put('heads', { a: '1', empty: '', all: Uint8Array.from(range(256)) })
        const done = await records.write({
          when: [
            { collection: 'heads', key: 'a', is: bytes(49) },
            { collection: 'heads', key: 'empty', is: '' },
            { collection: 'heads', key: 'absent', is: undefined },
            { collection: 'nothing', key: 'absent', is: undefined },
            { collection: 'heads', key: 'all', is: Uint8Array.from(range(256)) },
          ],
          remove: [['heads', 'empty']],
          put: [
            ['heads', 'a', '2'],
            ['gaps', 'g', 'new'],
          ],
        })
        expect(done).toEqual({ outcome: 'done', nowUs: opened.clock.now() * 1_000 })
        expect(await textsOf('heads', ['a', 'empty'])).toEqual(['2', undefined])
        expect(await textsOf('gaps', ['g'])).toEqual(['new'])
      })

      it.each<readonly [string, Uint8Array | string | undefined]>([
        ['a', undefined],
        ['a', ''],
        ['a', '2'],
        ['a', '12'],
        ['a', bytes(49, 0)],
        ['empty', undefined],
        ['empty', bytes(0)],
        ['absent', ''],
        ['absent', '1'],
      ])('writes nothing where %s is not %j', async (key, is) => {
        await put('heads', { a: '1', empty: '', other: 'o' })
        await put('checkpoints', { c: '1' })
        const before = await records.changes('checkpoints', 0)
        const refused = await records.write({
          when: [
            { collection: 'heads', key: 'other', is: 'o' },
            { collection: 'heads', key, is },
          ],
          add: [{ collection: 'numbers', key: 'n', by: 1 }],
          drop: ['heads'],
          remove: [['heads', 'other']],
          put: [
            ['heads', 'new', ''],
            ['checkpoints', 'c', '2'],
          ],
          append: [['seen:s', '1', bytes(1)]],
          stamp: [['holders', 'h']],
        })
        expect(refused).toEqual({ outcome: 'changed', nowUs: opened.clock.now() * 1_000 })
        expect(await textsOf('heads', ['a', 'empty', 'other', 'new'])).toEqual(['1', '', 'o', undefined])
        const others = await records.read({ numbers: ['n'], 'seen:s': ['1'], holders: ['h'] })
        expect(Object.values(others.found).flat()).toEqual([undefined, undefined, undefined])
        expect(await records.changes('checkpoints', 0)).toEqual(before)
      })

      it('writes nothing the second time where it depends on what it changes', async () => {
        await put('heads', { a: '1' })
        const write: Write = {
          when: [{ collection: 'heads', key: 'a', is: '1' }],
          add: [{ collection: 'numbers', key: 'n', by: 5 }],
          put: [['heads', 'a', '2']],
          append: [['seen:s', '1', bytes(1, 2)]],
        }
        expect(await records.write(write)).toMatchObject({ outcome: 'done' })
        expect(await records.write(write)).toMatchObject({ outcome: 'changed' })
        expect(await textsOf('numbers', ['n'])).toEqual(['5'])
        expect(await valuesOf('seen:s', ['1'])).toEqual([bytes(1, 2)])
      })

      it('lets one of several writes win that depend on the same record', async () => {
        const other = await opened.reopen()
        await put('heads', { a: '0' })
        for (let round = 0; round < 10; round++) {
          const writes = range(6).map((at) =>
            (at % 2 === 0 ? records : other).write({
              when: [{ collection: 'heads', key: 'a', is: String(round) }],
              put: [['heads', 'a', String(round + 1)]],
              append: [['seen:s', 'log', bytes(at)]],
            }),
          )
          const outcomes = (await Promise.all(writes)).map(({ outcome }) => outcome)
          expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
        }
        expect((await valuesOf('seen:s', ['log']))?.[0]).toHaveLength(10)
      })

      it('adds to numbers up to their most, and nothing at all above it', async () => {
        const add = (by: number, most?: number) =>
          records.write({
            when: [],
            add: [
              { collection: 'numbers', key: 'other', by: 1 },
              { collection: 'numbers', key: 'n', by, ...(most !== undefined && { most }) },
            ],
            put: [['heads', 'by', String(by)]],
          })
        const nowUs = opened.clock.now() * 1_000
        expect(await add(60, 100)).toEqual({ outcome: 'done', nowUs })
        expect(await add(40, 100)).toEqual({ outcome: 'done', nowUs })
        expect(await add(7, 100)).toEqual({ outcome: 'over', nowUs, sum: 107 })
        expect(await textsOf('numbers', ['n', 'other'])).toEqual(['100', '2'])
        expect(await textsOf('heads', ['by'])).toEqual(['40'])
        // Another limit, or none; and what shrinks is not refused above it.
        expect(await add(100_000_000_000_000)).toEqual({ outcome: 'done', nowUs })
        expect(await add(-50, 100)).toEqual({ outcome: 'done', nowUs })
        expect(await textsOf('numbers', ['n', 'other'])).toEqual(['100000000000050', '4'])
        expect(await add(-100_000_000_000_050)).toEqual({ outcome: 'done', nowUs })
        expect(await textsOf('numbers', ['n'])).toEqual(['0'])
        expect(await add(-3)).toEqual({ outcome: 'done', nowUs })
        expect(await textsOf('numbers', ['n'])).toEqual(['-3'])
      })

      it('appends to a record, and makes it where there is none', async () => {
        const append = (...values: number[]) =>
          records.write({ when: [], append: [['seen:s', '1', bytes(...values)]] })
        await append(0, 255)
        await append()
        await append(128, 195, 0)
        expect(await valuesOf('seen:s', ['1'])).toEqual([bytes(0, 255, 128, 195, 0)])
        await records.write({ when: [], append: [['seen:s', '2', bytes()]] })
        expect(await valuesOf('seen:s', ['2'])).toEqual([bytes()])
      })

      it('empties a collection before it puts into it, and leaves others', async () => {
        await put('seen:s', { '1': 'a', '2': 'b' })
        await put('seen:other', { '1': 'a' })
        await records.write({
          when: [],
          drop: ['seen:s', 'nothing'],
          put: [['seen:s', '2', 'c']],
          append: [['seen:s', '1', bytes(7)]],
        })
        await records.reclaim()
        expect(await scanned('seen:s')).toEqual(
          new Map([
            ['2', bytes(99)],
            ['1', bytes(7)],
          ]),
        )
        await records.write({ when: [], drop: ['seen:s'] })
        expect(await valuesOf('seen:s', ['1', '2'])).toEqual([undefined, undefined])
        expect(await records.readRuns('seen:s', ['1'])).toEqual([[]])
        expect(await scanned('seen:s')).toEqual(new Map())
        expect(await textsOf('seen:other', ['1'])).toEqual(['a'])
      })

      it('stamps with the time of the store, in µs', async () => {
        const stamp = () => records.write({ when: [], stamp: [['holders', 'one']], loosely: true })
        await stamp()
        expect(await textsOf('holders', ['one'])).toEqual([String(opened.clock.now() * 1_000)])
        await opened.clock.advance(1_500)
        const { nowUs } = await stamp()
        expect(nowUs).toBe(opened.clock.now() * 1_000)
        expect(await textsOf('holders', ['one'])).toEqual([String(nowUs)])
      })

      it('is seen by other processes, loosely or not', async () => {
        const other = await opened.reopen()
        for (const loosely of [true, false]) {
          await records.write({ when: [], put: [['heads', 'a', String(loosely)]], loosely })
          expect((await other.read({ heads: ['a'] })).found.heads.map(text)).toEqual([String(loosely)])
        }
      })

      it('takes 30,000 records at once', async () => {
        const keys = range(30_000).map((at) => `stream ${at}`)
        const stream = (key: string) => ['checkpoints', key, `checkpoint of ${key}`] as const
        await records.write({
          when: [{ collection: 'heads', key: 'a', is: undefined }],
          put: keys.map(stream),
        })
        const { sum, changed, latest } = await records.changes('checkpoints', 0)
        expect(changed).toHaveLength(30_000)
        expect(sum).toBe(BigInt(latest) * 30_000n)
        expect((await scanned('checkpoints', 1_000)).size).toBe(30_000)
        await records.write({ when: [], remove: keys.map((key) => ['checkpoints', key] as const) })
        expect(await records.changes('checkpoints', 0)).toEqual({ latest, sum: 0n, changed: [] })
      })

      it('works with nothing to do', async () => {
        expect(await records.write({ when: [] })).toMatchObject({ outcome: 'done' })
      })
    })

    describe('changes', () => {
      const keysOf = ({ changed }: { readonly changed: readonly (readonly [string, number])[] }) =>
        changed.map(([key]) => key)
      const sumOf = ({ changed }: { readonly changed: readonly (readonly [string, number])[] }) =>
        changed.reduce((sum, [, number]) => sum + BigInt(number), 0n)

      it('lists what was put since a number, in the order of the numbers', async () => {
        expect(await records.changes('checkpoints', 0)).toEqual({ latest: 0, sum: 0n, changed: [] })
        await put('checkpoints', { a: '1', b: '1' })
        await put('checkpoints', { c: '1' })
        await put('backfills', { x: '1' })
        const first = await records.changes('checkpoints', 0)
        expect(keysOf(first).slice(0, 2).sort()).toEqual(['a', 'b'])
        expect(keysOf(first)[2]).toBe('c')
        expect(first.changed[0]![1]).toBe(first.changed[1]![1])
        expect(first.changed[2]![1]).toBe(first.latest)
        expect(first.sum).toBe(sumOf(first))
        expect(await records.changes('checkpoints', first.latest)).toEqual({ ...first, changed: [] })
        await put('checkpoints', { a: '2' })
        const second = await records.changes('checkpoints', first.latest)
        expect(second.changed).toEqual([['a', second.latest]])
        expect(second.latest).toBeGreaterThan(first.latest)
        expect(second.sum).toBe(sumOf(await records.changes('checkpoints', 0)))
        expect(keysOf(await records.changes('backfills', 0))).toEqual(['x'])
      })

      it('tells a removal by the sum, and a record that was made again by its number', async () => {
        await put('checkpoints', { a: '1', b: '1' })
        const before = await records.changes('checkpoints', 0)
        const { latest } = before
        await records.write({
          when: [],
          remove: [
            ['checkpoints', 'a'],
            ['checkpoints', 'absent'],
          ],
        })
        const after = await records.changes('checkpoints', latest)
        expect(after).toEqual({ latest, sum: BigInt(latest), changed: [] })
        await put('checkpoints', { a: '1' })
        const again = await records.changes('checkpoints', latest)
        expect(again.changed).toEqual([['a', again.latest]])
        expect(again.latest).toBeGreaterThan(latest)
        await records.write({ when: [], drop: ['checkpoints'], put: [['checkpoints', 'c', '1']] })
        const dropped = await records.changes('checkpoints', 0)
        expect(dropped.changed).toEqual([['c', dropped.latest]])
        expect(dropped.latest).toBeGreaterThan(again.latest)
        expect(dropped.sum).toBe(BigInt(dropped.latest))
      })

      it('gives no number again after the store was restored', async () => {
        await put('checkpoints', { a: '1', b: '1' })
        const restore = await opened.backUp()
        await opened.clock.advance(10)
        await put('checkpoints', { a: '2' })
        const known = await records.changes('checkpoints', 0)
        await restore()
        const older = await records.changes('checkpoints', known.latest)
        expect(older.changed).toEqual([])
        expect(older.sum).not.toBe(known.sum)
        expect(older.latest).toBeLessThan(known.latest)
        await opened.clock.advance(10)
        // As many changes as were lost.
        await put('checkpoints', { b: '2' })
        const newer = await records.changes('checkpoints', 0)
        expect(newer.latest).toBeGreaterThan(known.latest)
        expect(newer.sum).not.toBe(known.sum)
        expect(await textsOf('checkpoints', ['a', 'b'])).toEqual(['1', '2'])
      })
    })

    it('fails every call after it was closed, and may be closed twice', async () => {
      await records.close()
      await records.close()
      const gone = { kind: 'retry', code: 'store_unavailable' }
      await expect(records.read({ heads: ['a'] })).rejects.toMatchObject(gone)
      await expect(put('heads', { a: '1' })).rejects.toMatchObject(gone)
      await expect(records.changes('checkpoints', 0)).rejects.toMatchObject(gone)
    })
  })
}
