import { appendFile, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { OpenStream } from '../../../src/ports/delivery.ts'
import { compareParts } from '../../../src/sinks/file/reconcile.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { buildEvents, contractFormat, never, streamOf, StreamLedger } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

type Step =
  | { readonly do: 'commit'; readonly events: number }
  | { readonly do: 'forget'; readonly events: number; readonly isFollowed: boolean }
  | { readonly do: 'restart' | 'reopen' | 'tear' }
  | { readonly do: 'wait'; readonly minutes: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('commit' as const), events: fc.integer({ min: 0, max: 12 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('forget' as const),
      events: fc.integer({ min: 1, max: 12 }),
      isFollowed: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'reopen' as const, 'tear' as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 90 }) }),
  },
)

it('has exactly the committed lines after every open, and who follows the parts misses none', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('none' as const, 'gzip' as const, 'zstd' as const),
      fc.array(step, { minLength: 1, maxLength: 25 }),
      holds,
    ),
    { numRuns: 60 },
  )
})

async function holds(compress: 'none' | 'gzip' | 'zstd', steps: readonly Step[]): Promise<void> {
  const bench = await createWorkbench()
  const clock = createFakeClock()
  const build = () => bench.sink({ compress, rotate: { maxBytes: 900, maxAgeMinutes: 60 } }, { clock })
  let sink = build()
  const ledger = new StreamLedger(streamOf(sink, 101))
  const committed: string[] = []
  let opened: OpenStream | undefined
  let page = 0
  const follower = createFollower()

  const open = async (): Promise<OpenStream> => {
    opened = await ledger.open(sink)
    expect((await bench.ids()).sort()).toEqual([...committed].sort())
    expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
    return opened
  }
  const deliver = async (count: number) => {
    const events = buildEvents(count, `page-${page++}`)
    const { committed: lengths } = await (opened ?? (await open())).deliver(events, never())
    return { lengths, ids: events.map(({ id }) => id) }
  }

  const begin = async (how: 'restart' | 'reopen' | 'tear') => {
    await opened?.close()
    opened = undefined
    if (how !== 'reopen') await sink.close()
    // What the last write of a killed process leaves behind.
    const torn = how === 'tear' ? await lastParts() : []
    for (const part of torn) await appendFile(part, '{"id":"to')
    if (how !== 'reopen') {
      // A process takes longer than this to begin; names of parts are whole seconds.
      await clock.advance(1000)
      sink = build()
    }
    await open()
  }

  try {
    for (const step of steps) {
      if (step.do === 'commit') {
        const { lengths, ids } = await deliver(step.events)
        ledger.commit(lengths)
        committed.push(...ids)
      } else if (step.do === 'forget') {
        // The port's rule: nothing is delivered after an uncommitted delivery before the stream is opened again.
        await deliver(step.events)
        opened = undefined
        if (step.isFollowed) await follower.read(bench)
      } else if (step.do === 'wait') await clock.advance(step.minutes * 60_000)
      else await begin(step.do)
    }
    await open()
    expect(bench.named('FileShort')).toEqual([])
    await follower.read(bench)
    // Of compressed parts it has what it read before.
    if (compress === 'none') expect(committed.filter((id) => !follower.ids.has(id))).toEqual([])
  } finally {
    await bench.dispose()
  }

  async function lastParts(): Promise<string[]> {
    const files = await bench.files().catch(() => [])
    const plain = files.filter((file) => file.endsWith('.ndjson') && !file.startsWith('.'))
    return plain.slice(-1).map((file) => join(bench.folder(), file))
  }
}

/** An agent that is away most of the time. It knows files by inode, and reads on where it stopped, unless a file is shorter by then. */
function createFollower() {
  const ends = new Map<number, number>()
  const ids = new Set<string>()
  return {
    ids,
    async read(bench: Workbench): Promise<void> {
      for (const file of await bench.files().catch(() => [])) {
        if (!file.endsWith('.ndjson')) continue
        const path = join(bench.folder(), file)
        const [{ ino }, bytes] = [await stat(path), await readFile(path)]
        const end = bytes.lastIndexOf('\n') + 1
        const known = ends.get(ino) ?? 0
        const lines = bytes
          .subarray(known > bytes.length ? 0 : known, end)
          .toString()
          .split('\n')
        for (const id of lines.flatMap((line) => contractFormat.identify(line)?.id ?? [])) ids.add(id)
        ends.set(ino, end)
      }
    },
  }
}
