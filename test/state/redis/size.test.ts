import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { startOf } from '../../../src/domain/day.ts'
import type { Cursor } from '../../../src/domain/scan/page.ts'
import { buildStream, commitOnce } from '../../contract/checkpoint-store/builders.ts'
import { addJobs, openQueues } from '../../../src/schedule/bullmq/queues.ts'
import { fencesOf } from '../../docs/pages.ts'
import { own } from '../../setup/leftovers.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { redisServerAvailable, startRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { fillDay, firstMinute, inOrder, newestFirst, scattered, stream } from '../filled-day.ts'
import { clientOf, openAt, stateAt } from './opening.ts'

/** The figures of the formula in docs/scaling-redis.md, by what they stand before. */
function formula() {
  const page = readFileSync(`${projectFolder}docs/scaling-redis.md`, 'utf8')
  const [text = ''] = fencesOf(page).flatMap(({ marks, text }) => (marks.includes('memory') ? [text] : []))
  const figure = (of: string): number => {
    const [, digits] = new RegExp(`([\\d,]+) × ${of}`).exec(text) ?? []
    if (digits === undefined) throw new Error(`the formula has no figure for ${of}`)
    return Number(digits.replaceAll(',', ''))
  }
  return {
    event: figure('events'),
    stream: figure('streams'),
    minute: figure('minutes'),
    waiting: figure('jobs'),
  }
}

const bytesOf = formula()

describe.skipIf(!redisServerAvailable())('the memory of a stream', async () => {
  if (!redisServerAvailable()) return
  // The log of slow commands keeps their arguments, and a busy machine fills it.
  const server = await startRedis({ args: ['--slowlog-log-slower-than', '-1'] })
  const client = clientOf(server.url)
  /** Without what the server keeps for its connections, which comes and goes. */
  const used = async (): Promise<number> => {
    const text = await client.info('memory')
    const bytes = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1])
    return bytes('used_memory') - bytes('mem_clients_normal')
  }

  /** The server counts its connections every tenth of a second only, so what it says must stand for longer. */
  const settled = async (): Promise<number> => {
    let latest = { bytes: -1, times: 0 }
    await waitFor(
      async () => {
        const bytes = await used()
        latest = { bytes, times: bytes === latest.bytes ? latest.times + 1 : 0 }
        return latest.times === 3
      },
      { what: 'a figure that stands', everyMs: 110 },
    )
    return latest.bytes
  }

  /** Buffers of connections shrink, and what was unlinked is freed, a moment later. */
  const atMost = (bytes: number) =>
    waitFor(async () => (await used()) <= bytes, { what: `no more than ${bytes} bytes in use` })

  it.each([
    ['a million events in order', 1_000_000, inOrder(1_000_000)],
    ['a hundred thousand, newest first', 100_000, newestFirst(100_000)],
    ['a hundred thousand in no order', 100_000, scattered(100_000)],
    ['thirty thousand in order', 30_000, inOrder(30_000)],
    ['ten thousand in order', 10_000, inOrder(10_000)],
    ['ten thousand in no order', 10_000, scattered(10_000)],
    ['a thousand in no order', 1_000, scattered(1_000)],
    ['three hundred in order', 300, inOrder(300)],
  ])('is at most the documented one: %s', async (_, events, minuteAt) => {
    await client.flushall()
    const store = await openAt(stateAt(server.url, { keyPrefix: 'shieldlog' }))
    // What there is once in a store, and what Redis itself sets up at the first script.
    await fillDay(store, buildStream({ zone: 1 }), 1, () => 0)
    const before = await settled()
    await fillDay(store, stream, events, minuteAt)
    await atMost(before + bytesOf.event * events + bytesOf.stream)
  })

  it('is 1 kB for a quiet one, with a full checkpoint', async () => {
    await client.flushall()
    const store = await openAt(stateAt(server.url, { keyPrefix: 'shieldlog' }))
    const [count, events] = [1_000, 8]
    const before = await settled()
    for (let zone = 1; zone <= count; zone++) {
      const quiet = buildStream({ zone: 1_000_000 + zone })
      const atMs = startOf(quiet.day) + zone * 12_345
      const scan = { beganAtMs: atMs, endedAtMs: atMs + zone, tookMs: zone, pages: 1, found: 0 }
      const full = {
        lastFull: { ...scan, newestAtBeginMs: atMs - zone },
        lastIncremental: { ...scan, newestAtBeginMs: atMs - 7 },
        caughtUpAtMs: atMs,
        newestMs: atMs - zone,
        mark: Array.from({ length: events }, () => randomBytes(8).toString('hex')),
        storedCursors: [1, 2].map((at) => ({
          cursor: randomBytes(30).toString('base64') as Cursor,
          newestMs: atMs + at,
        })),
      }
      const seen = new Map(
        Array.from({ length: events }, (_, at) => [firstMinute + at * 150 + (zone % 100), randomBytes(8)]),
      )
      await commitOnce(store, quiet, { with: full, seen })
    }
    await atMost(before + (bytesOf.stream + bytesOf.event * events) * count)
  })

  it.each([1, 10, 100, 1_000, 1_440])(
    'is the documented one after a day of %d minutes is complete',
    async (minutes) => {
      await client.flushall()
      const store = await openAt(stateAt(server.url, { keyPrefix: 'shieldlog' }))
      // What Redis itself sets up at the first script of each kind.
      await fillDay(store, buildStream({ zone: 1 }), 20, () => 0)
      await store.upkeep.dropIndex(buildStream({ zone: 1 }))
      const before = await settled()
      await fillDay(store, stream, minutes * 20, (event) => event % minutes)
      await store.upkeep.dropIndex(stream)
      await atMost(before + bytesOf.stream + bytesOf.minute * minutes)
    },
  )

  it('is the documented one for streams that wait in the queue', async () => {
    await client.flushall()
    const reportError = (error: unknown) => expect.unreachable(String(error))
    const queues = openQueues({ client, keyPrefix: 'shieldlog', sinks: ['archive'], reportError })
    own({ what: 'queues', isLeft: () => true, remove: () => queues.close(), isFault: false })
    const traceparent = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`
    const wait = (zones: readonly number[]) =>
      addJobs(
        queues.ofStreams[0]!,
        zones.map((zone) => ({ stream: buildStream({ zone }) })),
        { traceparent },
      )
    await wait([1])
    const before = await settled()
    const zones = Array.from({ length: 1_000 }, (_, at) => 1_000_000 + at)
    await wait(zones)
    expect((await queues.count()).find(({ state }) => state === 'waiting')?.jobs).toBe(1_001)
    await atMost(before + bytesOf.waiting * zones.length)
  })
})
