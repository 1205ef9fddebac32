import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { OpenStream } from '../../../src/ports/delivery.ts'
import { compareParts } from '../../../src/sinks/file/reconcile.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { buildEvents, never, streamOf, StreamLedger } from './samples.ts'
import { createWorkbench } from './workbench.ts'

type Step =
  | { readonly do: 'commit' | 'forget'; readonly events: number }
  | { readonly do: 'restart' | 'reopen' | 'tear' }
  | { readonly do: 'wait'; readonly minutes: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('commit' as const), events: fc.integer({ min: 0, max: 12 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('forget' as const), events: fc.integer({ min: 1, max: 12 }) }),
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

it('has exactly the committed lines after every open, whatever happened before', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('none' as const, 'gzip' as const, 'zstd' as const),
      fc.array(step, { minLength: 1, maxLength: 25 }),
      holds,
    ),
    { numRuns: 40 },
  )
})

async function holds(compress: 'none' | 'gzip' | 'zstd', steps: readonly Step[]): Promise<void> {
  const bench = await createWorkbench()
  const clock = createFakeClock()
  const build = () => bench.sink({ compress, rotate: { maxBytes: 400, maxAgeMinutes: 60 } }, { clock })
  let sink = build()
  const ledger = new StreamLedger(streamOf(sink, 101))
  const committed: string[] = []
  let opened: OpenStream | undefined
  let page = 0

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
    if (how !== 'reopen') sink = build()
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
      } else if (step.do === 'wait') await clock.advance(step.minutes * 60_000)
      else await begin(step.do)
    }
    await open()
    expect(bench.named('FileShort')).toEqual([])
  } finally {
    await bench.dispose()
  }

  async function lastParts(): Promise<string[]> {
    const files = await bench.files().catch(() => [])
    const plain = files.filter((file) => file.endsWith('.ndjson') && !file.startsWith('.'))
    return plain.slice(-1).map((file) => join(bench.folder(), file))
  }
}
