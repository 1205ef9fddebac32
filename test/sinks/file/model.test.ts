import { appendFile, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Event } from '../../../src/domain/event/event.ts'
import type { OpenStream } from '../../../src/ports/delivery.ts'
import { compareParts } from '../../../src/sinks/file/compare.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { buildEvents, contractFormat, never, streamOf, StreamLedger } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

type Step =
  /** Of the events that are listed and not shipped, of which one at a time is late and stands anywhere among them. */
  | { readonly do: 'commit'; readonly events: number; readonly late: number }
  | { readonly do: 'forget'; readonly events: number; readonly late: number; readonly isFollowed: boolean }
  | { readonly do: 'restart' | 'reopen' | 'tear' }
  | { readonly do: 'wait'; readonly minutes: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      events: fc.integer({ min: 0, max: 12 }),
      late: fc.nat(12),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('forget' as const),
      events: fc.integer({ min: 1, max: 12 }),
      late: fc.nat(12),
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
      fc.constantFrom('none' as const, 'none' as const, 'gzip' as const, 'zstd' as const),
      fc.constantFrom('inode' as const, 'head' as const),
      fc.array(step, { minLength: 1, maxLength: 25 }),
      holds,
    ),
    { numRuns: 100 },
  )
})

async function holds(
  compress: 'none' | 'gzip' | 'zstd',
  by: 'inode' | 'head',
  steps: readonly Step[],
): Promise<void> {
  const bench = await createWorkbench()
  const clock = createFakeClock()
  const build = () => bench.sink({ compress, rotate: { maxBytes: 900, maxAgeMinutes: 60 } }, { clock })
  let sink = build()
  const ledger = new StreamLedger(streamOf(sink, 101))
  const committed: string[] = []
  let opened: OpenStream | undefined
  let page = 0
  const listed: Event[] = []
  const follower = createFollower(by)

  const open = async (): Promise<OpenStream> => {
    opened = await ledger.open(sink)
    expect((await bench.ids()).sort()).toEqual([...committed].sort())
    expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
    return opened
  }
  const deliver = async (count: number, late: number) => {
    const fresh = buildEvents(count + 1, `page-${page++}`)
    listed.splice(late, 0, fresh.pop()!)
    listed.push(...fresh)
    const events = listed.slice(0, count)
    const { committed: lengths } = await (opened ?? (await open())).deliver(events, never())
    return { lengths, events }
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
        const { lengths, events } = await deliver(step.events, step.late)
        ledger.commit(lengths)
        listed.splice(0, events.length)
        committed.push(...events.map(({ id }) => id))
      } else if (step.do === 'forget') {
        // The port's rule: nothing is delivered after an uncommitted delivery before the stream is opened again.
        await deliver(step.events, step.late)
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

/**
 * An agent that is away most of the time. It knows files by inode or by their first bytes, and reads on where it stopped,
 * unless a file is shorter by then.
 */
function createFollower(by: 'inode' | 'head') {
  const files: { inode: number; head: string; end: number }[] = []
  const ids = new Set<string>()
  return {
    ids,
    async read(bench: Workbench): Promise<void> {
      for (const name of await bench.files().catch(() => [])) {
        if (!name.endsWith('.ndjson')) continue
        const path = join(bench.folder(), name)
        const [{ ino: inode }, bytes] = [await stat(path), await readFile(path)]
        if (bytes.length === 0) continue
        const head = bytes.toString('latin1', 0, 100)
        let file = files.find((each) => (by === 'inode' ? each.inode === inode : head.startsWith(each.head)))
        if (file === undefined) files.push((file = { inode, head, end: 0 }))
        const from = file.end > bytes.length ? 0 : file.end
        const end = bytes.lastIndexOf('\n') + 1
        for (const line of bytes.subarray(from, end).toString().split('\n'))
          for (const id of [contractFormat.identify(line)?.id ?? []].flat()) ids.add(id)
        Object.assign(file, { head, end })
      }
    },
  }
}
