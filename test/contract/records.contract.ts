import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Changes, Records, Write } from '../../src/ports/records.ts'
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

const text = (value: Uint8Array | undefined) => value && Buffer.from(value).toString()
const bytes = (...values: readonly number[]) => Uint8Array.from(values)
const range = (count: number) => Array.from({ length: count }, (_, at) => at)
/** Records `k0`, `k1` … */
const numbered = (count: number, value: (at: number) => string) =>
  Object.fromEntries(range(count).map((at) => [`k${at}`, value(at)]))
const allBytes = Uint8Array.from(range(256))

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

    const write = (parts: Partial<Write>) => records.write({ when: [], ...parts })
    const put = (collection: string, values: Readonly<Record<string, Uint8Array | string>>) =>
      write({ put: Object.entries(values).map(([key, value]) => [collection, key, value] as const) })
    const valuesOf = async (collection: string, keys: readonly string[]) =>
      (await records.read({ [collection]: keys })).found[collection]!
    const textsOf = async (collection: string, keys: readonly string[]) =>
      (await valuesOf(collection, keys)).map(text)
    const scanned = async (collection: string, atOnce = 100): Promise<Map<string, Uint8Array>> => {
      const found = new Map<string, Uint8Array>()
      for await (const page of records.scan(collection, atOnce))
        for (const [key, value] of page) found.set(key, value)
      return found
    }
    const nowUs = () => opened.clock.now() * 1_000

    describe('read', () => {
      it('gives records of several collections in the order of their keys, and none for absent ones', async () => {
        const seen = 'seen:101/2026-11-20/archive'
        await put('heads', { a: '1', b: '2' })
        await put(seen, { b3: 'x' })
        const asked = { heads: ['b', 'c', 'a', 'b'], [seen]: ['b4', 'b3'], nothing: ['a'], unasked: [] }
        const { found } = await records.read(asked)
        expect(found.heads.map(text)).toEqual(['2', undefined, '1', '2'])
        expect(found[seen].map(text)).toEqual([undefined, 'x'])
        expect([found.nothing, found.unasked]).toEqual([[undefined], []])
      })

      it('keeps every byte, and an empty record apart from none', async () => {
        await put('heads', { allBytes, empty: '', emptyBytes: bytes(), text: 'é𝄞\n"' })
        const found = await valuesOf('heads', ['allBytes', 'empty', 'emptyBytes', 'text', 'absent'])
        expect(found).toEqual([allBytes, bytes(), bytes(), new TextEncoder().encode('é𝄞\n"'), undefined])
      })

      it('takes keys of any letters, and each as another one', async () => {
        const keys = ['a', 'A', 'a ', '["id \\" \\\\ é","2026"]', '𝄞', '%', '_', '*', '?', '[a]']
        await put('letters', Object.fromEntries(keys.map((key) => [key, `=${key}`])))
        expect(await textsOf('letters', keys)).toEqual(keys.map((key) => `=${key}`))
        expect([...(await scanned('letters')).keys()].sort()).toEqual([...keys].sort())
      })

      it('tells the time of the store, taken after the records', async () => {
        const reading = records.read({ holders: ['one'] })
        const stamping = write({ stamp: [['holders', 'one']] })
        const answer = await reading
        await stamping
        expect(answer.nowUs).toBe(nowUs())
        expect(answer.nowUs).toBeGreaterThanOrEqual(Number(text(answer.found.holders[0]) ?? 0))
      })
    })

    describe('scan', () => {
      it('gives all records of a collection in pages, and those of no other', async () => {
        const values = numbered(1_500, (at) => `v${at}`.padEnd(80))
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
        const value = 'v'.repeat(80)
        const keys = Object.keys(numbered(2_000, String))
        await put(
          'heads',
          numbered(2_000, () => value),
        )
        const found = new Set<string>()
        let turn = 0
        for await (const page of records.scan('heads', 50)) {
          for (const [key] of page) found.add(key)
          const come = range(30).map((at) => ['heads', `new${turn}.${at}`, value] as const)
          await write({ remove: [['heads', keys[turn * 2]!]], put: come })
          turn++
        }
        const stayed = keys.filter((_, at) => at >= turn * 2 || at % 2 === 1)
        expect(stayed.filter((key) => !found.has(key))).toEqual([])
      })
    })

    describe('write', () => {
      it('writes all of it where its conditions hold, absence and emptiness among them', async () => {
        await put('heads', { a: '1', empty: '', allBytes })
        const isWritten = await write({
          when: [
            { collection: 'heads', key: 'a', is: bytes(49) },
            { collection: 'heads', key: 'empty', is: '' },
            { collection: 'heads', key: 'absent', is: undefined },
            { collection: 'nothing', key: 'absent', is: undefined },
            { collection: 'heads', key: 'allBytes', is: allBytes },
          ],
          remove: [['heads', 'empty']],
          put: [
            ['heads', 'a', '2'],
            ['gaps', 'g', 'new'],
          ],
        })
        expect(isWritten).toBe(true)
        expect(await textsOf('heads', ['a', 'empty'])).toEqual(['2', undefined])
        expect(await textsOf('gaps', ['g'])).toEqual(['new'])
        expect(await write({})).toBe(true)
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
        const refused = await write({
          when: [
            { collection: 'heads', key: 'other', is: 'o' },
            { collection: 'heads', key, is },
          ],
          add: [['numbers', 'n', 1]],
          drop: ['heads'],
          remove: [['heads', 'other']],
          put: [
            ['heads', 'new', ''],
            ['checkpoints', 'c', '2'],
          ],
          append: [['seen:s', '1', bytes(1)]],
          stamp: [['holders', 'h']],
        })
        expect(refused).toBe(false)
        expect(await textsOf('heads', ['a', 'empty', 'other', 'new'])).toEqual(['1', '', 'o', undefined])
        const others = await records.read({ numbers: ['n'], 'seen:s': ['1'], holders: ['h'] })
        expect(Object.values(others.found).flat()).toEqual([undefined, undefined, undefined])
        expect(await records.changes('checkpoints', 0)).toEqual(before)
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
          expect((await Promise.all(writes)).filter(Boolean)).toHaveLength(1)
        }
        expect((await valuesOf('seen:s', ['log']))[0]).toHaveLength(10)
      })

      it('adds to numbers, if they are not too high', async () => {
        const add = (by: number, atMost: number) =>
          write({
            when: [{ collection: 'numbers', key: 'n', atMost }],
            add: [
              ['numbers', 'other', 1],
              ['numbers', 'n', by],
            ],
          })
        expect(await add(60, 0)).toBe(true)
        expect(await add(40, 60)).toBe(true)
        expect(await add(7, 99)).toBe(false)
        expect(await textsOf('numbers', ['n', 'other'])).toEqual(['100', '2'])
        expect(await add(100_000_000_000_000, 1e15)).toBe(true)
        expect(await add(-100_000_000_000_103, Infinity)).toBe(true)
        expect(await textsOf('numbers', ['n', 'other'])).toEqual(['-3', '4'])
      })

      it('appends to a record, and makes it where there is none', async () => {
        const append = (key: string, ...values: number[]) =>
          write({ append: [['seen:s', key, bytes(...values)]] })
        for (const values of [[0, 255], [], [128, 195, 0]]) await append('1', ...values)
        await append('2')
        expect(await valuesOf('seen:s', ['1', '2'])).toEqual([bytes(0, 255, 128, 195, 0), bytes()])
      })

      it('empties a collection before it puts into it, and leaves others', async () => {
        await put('seen:s', { '1': 'a', '2': 'b' })
        await put('seen:other', { '1': 'a' })
        await write({
          drop: ['seen:s', 'nothing'],
          put: [['seen:s', '2', 'c']],
          append: [['seen:s', '1', bytes(7)]],
        })
        await records.reclaim()
        expect(Object.fromEntries(await scanned('seen:s'))).toEqual({ '2': bytes(99), '1': bytes(7) })
        await write({ drop: ['seen:s'] })
        expect(await valuesOf('seen:s', ['1', '2'])).toEqual([undefined, undefined])
        expect(await scanned('seen:s')).toEqual(new Map())
        expect(await textsOf('seen:other', ['1'])).toEqual(['a'])
      })

      it('stamps with the time of the store, in µs', async () => {
        for (const ms of [0, 1_500]) {
          await opened.clock.advance(ms)
          await write({ stamp: [['holders', 'one']], loosely: true })
          expect(await textsOf('holders', ['one'])).toEqual([String(nowUs())])
        }
      })

      it('takes 30,000 records at once', async () => {
        const keys = Object.keys(numbered(30_000, String))
        await put('checkpoints', numbered(30_000, String))
        const { sum, changed, latest } = await records.changes('checkpoints', 0)
        expect(changed).toHaveLength(30_000)
        expect(sum).toBe(BigInt(latest) * 30_000n)
        expect((await scanned('checkpoints', 1_000)).size).toBe(30_000)
        await write({ remove: keys.map((key) => ['checkpoints', key] as const) })
        expect(await records.changes('checkpoints', 0)).toEqual({ latest, sum: 0n, changed: [] })
      })
    })

    describe('changes', () => {
      const keysOf = ({ changed }: Changes) => changed.map(([key]) => key)
      const sumOf = ({ changed }: Changes) => changed.reduce((sum, [, number]) => sum + BigInt(number), 0n)

      it('lists what was put since a number, in the order of the numbers', async () => {
        expect(await records.changes('checkpoints', 0)).toEqual({ latest: 0, sum: 0n, changed: [] })
        await put('checkpoints', { a: '1', b: '1' })
        await put('checkpoints', { c: '1' })
        await put('backfilled', { x: '1' })
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
        expect(keysOf(await records.changes('backfilled', 0))).toEqual(['x'])
      })

      it('tells a removal by the sum, and a record that was made again by its number', async () => {
        await put('checkpoints', { a: '1', b: '1' })
        const { latest } = await records.changes('checkpoints', 0)
        await write({ remove: ['a', 'absent'].map((key) => ['checkpoints', key] as const) })
        const after = await records.changes('checkpoints', latest)
        expect(after).toEqual({ latest, sum: BigInt(latest), changed: [] })
        await put('checkpoints', { a: '1' })
        const again = await records.changes('checkpoints', latest)
        expect(again.changed).toEqual([['a', again.latest]])
        expect(again.latest).toBeGreaterThan(latest)
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
