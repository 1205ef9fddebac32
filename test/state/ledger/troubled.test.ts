import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { unpackFingerprints } from '../../../src/domain/event/seen.ts'
import { Failure, isFailure } from '../../../src/domain/failure.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Records, Write } from '../../../src/ports/records.ts'
import type { Commit, Store } from '../../../src/ports/store.ts'
import { openLedger } from '../../../src/state/ledger/store.ts'
import { openMemoryRecords } from '../../../src/state/sqlite/records.ts'
import {
  buildCheckpoint,
  buildCommit,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  commitOnce,
  nothingOld,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { createFakeClock, type FakeClock } from '../../fakes/fake-clock.ts'
import { createRandom } from '../../pump/model/random.ts'

const streams = [buildStream(), buildStream({ zone: 102 })]
const perCommit = 40
const lost = () => new Failure('retry', 'store_unavailable', 'the answer was lost')

/** Requests and answers get lost, writes are carried out twice or late, and others come in between. */
function troubled(records: Records, random: () => number): Records {
  const late: Write[] = []
  const pause = async (): Promise<void> => {
    for (let turns = Math.floor(random() * 3); turns > 0; turns--) await setImmediate()
  }
  const between = async <T>(work: () => Promise<T>): Promise<T> => {
    await pause()
    const result = await work()
    await pause()
    return result
  }
  return {
    ...records,
    read: (asked) => between(() => records.read(asked)),
    write: (write) =>
      between(async () => {
        const fate = random()
        if (random() < 0.2 && late.length > 0) await records.write(late.shift()!)
        if (fate < 0.1) late.push(write)
        if (fate < 0.13) throw lost()
        const written = await records.write(write)
        if (fate < 0.2) await records.write(write)
        if (fate < 0.3) throw lost()
        return written
      }),
  }
}

/** What one process was told of its commits. */
interface Told {
  readonly commit: Commit
  readonly answer: 'done' | 'unknown'
}

/** Takes and commits until it has done so some times; tries what failed again, as a pump does. */
async function work(store: Store, holder: string, random: () => number, nextFingerprint: () => number) {
  const told: Told[] = []
  for (let turn = 0; turn < 12; turn++) {
    const stream = streams[Math.floor(random() * streams.length)]!
    const taken = await store.ledger.take(stream, buildHolder(holder, true)).catch(ignoreFailure)
    let based = taken?.checkpoint?.commit ?? 0
    const commits = taken === undefined ? 0 : Math.floor(random() * 5)
    for (let count = 0; count < commits; count++) {
      const from = nextFingerprint()
      const minute = Math.floor(random() * 4)
      if (random() < 0.5) await store.ledger.loadSeen(stream, [minute])
      const letter = buildDeadLetter({ ...stream, id: `e${from % 160}`, event: 'x'.repeat(from % 7) })
      const commit = buildCommit(stream, taken!.fence, based, {
        next: buildCheckpoint(stream, based + 1, { restarts: from }),
        seen: new Map([[minute, packed(from, perCommit)]]),
        deadLetters: random() < 0.3 ? [letter] : [],
        removedDeadLetters: random() < 0.2 ? [{ id: `e${from % 120}` }] : [],
        gaps: random() < 0.2 ? [buildGap({ zone: stream.zone, from: from % 5 })] : [],
      })
      const answer = await commitAgain(store, commit, () => random() < 0.7)
      if (answer !== 'refused') told.push({ commit, answer })
      if (answer !== 'done') break
      based++
    }
    if (taken !== undefined) await store.ledger.release(stream, taken.fence).catch(ignoreFailure)
  }
  return told
}

/** `unknown`: it may have been written, since some answer was lost. */
async function commitAgain(store: Store, commit: Commit, goesOn: () => boolean) {
  let mayBeWritten = false
  do {
    const answer = await store.ledger.commit(commit).catch(ignoreFailure)
    if (answer === 'done') return answer
    if (answer === 'refused') return mayBeWritten ? 'unknown' : answer
    mayBeWritten = true
  } while (goesOn())
  return 'unknown'
}

function ignoreFailure(error: unknown): undefined {
  if (!isFailure(error)) throw error
}

async function run(seed: number, clock: FakeClock): Promise<void> {
  const handle = new DatabaseSync(':memory:')
  const random = createRandom(seed).next
  let fingerprint = 0
  const nextFingerprint = () => (fingerprint += perCommit)
  const open = (records: Records) => openLedger({ records, clock, deadLetterMaxBytes: 1e9, place: 'memory' })
  const records = await openMemoryRecords(clock, handle)
  const whole = await open(records)
  const told = await Promise.all(
    ['one', 'two', 'three'].map(async (holder) => {
      const store = await open(troubled(await openMemoryRecords(clock, handle), random))
      return work(store, holder, random, nextFingerprint)
    }),
  )
  for (const stream of streams) {
    const found = [...(await whole.ledger.loadSeen(stream, [0, 1, 2, 3])).values()].flatMap(
      unpackFingerprints,
    )
    const numbers = found.map(Number)
    expect(new Set(numbers).size).toBe(numbers.length)
    const present = Map.groupBy(numbers, (number) => Math.floor(number / perCommit))
    for (const each of present.values()) expect(each).toHaveLength(perCommit)
    const own = told.flat().filter(({ commit }) => commit.next.stream === stream)
    const isPresent = ({ commit }: Told) => present.has(commit.next.restarts / perCommit)
    expect(own.filter(({ answer }) => answer === 'done').every(isPresent)).toBe(true)
    // What is there was told to be done, or may have been.
    expect(own.filter(isPresent)).toHaveLength(present.size)
    expect((await whole.ledger.read(stream))?.commit ?? 0).toBe(present.size)
  }
  const letters = await whole.deadLetters.list()
  const counts = await whole.deadLetters.counts()
  expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(letters.length)
  const [kept = []] = (await records.read({ numbers: ['deadLetterBytes/archive'] })).found.numbers
  const bytes = Number(Buffer.from(kept).toString())
  expect(counts.reduce((sum, each) => sum + each.bytes, 0)).toBe(bytes)
}

test('what was told to be done is there once, whole, and nothing else, whatever is lost, late or done twice', async () => {
  for (let seed = 1; seed <= 60; seed++)
    await run(seed, createFakeClock(undefined, true)).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
})

test('a fence that could not be released is released with the next heartbeat, unless its stream was taken again', async () => {
  const clock = createFakeClock()
  const whole = await openMemoryRecords(clock)
  let isAway = false
  const write: Records['write'] = async (write) => {
    if (isAway) throw lost()
    return whole.write(write)
  }
  const records = { ...whole, write }
  const { ledger } = await openLedger({ records, clock, deadLetterMaxBytes: 1, place: 'memory' })
  const [one, two, [stream, again]] = [buildHolder('one'), buildHolder('two'), streams as [Stream, Stream]]
  const fences = [await ledger.take(stream, one), await ledger.take(again, one)] as const
  isAway = true
  await expect(ledger.release(stream, fences[0].fence)).rejects.toThrow()
  await expect(ledger.release(again, fences[1].fence)).rejects.toThrow()
  await expect(ledger.heartbeat(one)).rejects.toThrow()
  isAway = false
  await expect(ledger.take(stream, two)).rejects.toMatchObject({ code: 'held' })
  await ledger.take(again, one)
  await ledger.heartbeat(one)
  await ledger.take(stream, two)
  await expect(ledger.take(again, two)).rejects.toMatchObject({ code: 'held' })
})

test('a kill between any two writes of a pruning leaves each day with its checkpoint, or remembered', async () => {
  for (let most = 0, isKilled = true; isKilled; most++) {
    const clock = createFakeClock()
    const records = await openMemoryRecords(clock)
    const open = (with_: Records) =>
      openLedger({ records: with_, clock, deadLetterMaxBytes: 1, place: 'memory' })
    const store = await open(records)
    const { ledger } = store
    for (const stream of streams) await commitOnce(store, stream)
    let writes = 0
    const write: Records['write'] = async (each) => {
      if (writes++ === most) throw new Error('killed')
      return records.write(each)
    }
    const { upkeep } = await open({ ...records, write })
    isKilled = await upkeep.prune(streams, nothingOld).then(
      () => false,
      () => true,
    )
    for (const stream of streams) {
      const isKnown = (await ledger.read(stream)) !== undefined
      expect((await ledger.dropped(stream)) === 'day').toBe(!isKnown)
    }
  }
})

test('a power cut may take a commit that says only how far a scan is, and none that adds or closes a gap', async () => {
  const clock = createFakeClock()
  const records = await openMemoryRecords(clock)
  const loosely: (boolean | undefined)[] = []
  const write: Records['write'] = async (each) => {
    if (each.put?.some(([collection]) => collection === 'checkpoints') === true) loosely.push(each.loosely)
    return records.write(each)
  }
  const store = await openLedger({
    records: { ...records, write },
    clock,
    deadLetterMaxBytes: 1,
    place: 'memory',
  })
  const [stream] = streams as [Stream]
  for (const gaps of [[], [buildGap()], [{ ...buildGap(), readAt: 7 }]])
    await commitOnce(store, stream, { gaps })
  expect(loosely).toEqual([true, false, false])
})
