import { describe, expect, it } from 'vitest'
import { LatestPages } from '../../src/pump/latest-pages.ts'
import { newCheckpoint } from '../../src/domain/checkpoint.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'
import { buildFacts, buildScan, stream } from '../domain/builders.ts'
import { createStage, firstEvents, type Stage } from './stage.ts'

/** Enough that a page is remembered. */
const many = firstEvents(150)

/** A day of one page, polled twice without news. `parsed` counts how often its entries are accessed. */
async function polled(): Promise<{ stage: Stage; poll(): Promise<void>; parsed(): number }> {
  const stage = await createStage()
  const latestPages = new LatestPages()
  let parsed = 0
  stage.script.answer = () => ({ events: many, hash: 'same' })
  const { fetchPage } = stage.deps.source
  const source = {
    async fetchPage(...given: Parameters<typeof fetchPage>) {
      const page = await fetchPage(...given)
      const content = () => {
        parsed++
        return page.content()
      }
      return { ...page, content }
    },
  }
  const poll = async () => {
    parsed = 0
    await stage.clock.advance(3_600_000)
    await stage.pump({}, undefined, { source, latestPages })
  }
  for (let polls = 0; polls < 3; polls++) await poll()
  return { stage, poll, parsed: () => parsed }
}

describe('a page that is the same as at the poll before, and of which every event is seen', () => {
  it('is not parsed again; the scan counts like any other', async () => {
    const { stage, poll, parsed } = await polled()
    const before = (await stage.read())!
    await poll()
    expect(parsed()).toBe(0)
    const after = (await stage.read())!
    expect(after.lastFull!.beganAtMs).toBeGreaterThan(before.lastFull!.beganAtMs)
    expect(after.caughtUpAtMs).toBeGreaterThan(before.caughtUpAtMs!)
    const more = { pages: before.counters.pages + 1, events: before.counters.events + 150 }
    expect(after.counters).toMatchObject({ ...more, delivered: 150 })
  })

  it('counts as met with what was new on it', async () => {
    const { stage, poll, parsed } = await polled()
    const more = firstEvents(151)
    stage.script.answer = () => ({ events: more, hash: 'other' })
    for (let polls = 0; polls < 2; polls++) await poll()
    expect(parsed()).toBe(0)
    expect(await stage.read()).toMatchObject({ listed: 151, needsFull: false })
  })

  it('counts no event that the page before it showed too', async () => {
    const { stage, poll } = await polled()
    const all = firstEvents(160)
    const listLast = (last: number) => {
      const first = [...all.slice(0, 39), all[last]!]
      stage.script.answer = ({ cursor }) =>
        cursor === null
          ? { events: first, next: 'second', hash: `${last}` }
          : { events: all.slice(40), hash: 'second' }
    }
    listLast(39)
    for (let polls = 0; polls < 3; polls++) await poll()
    expect(await stage.read()).toMatchObject({ listed: 160, needsFull: false })
    listLast(40)
    await poll()
    expect(await stage.read()).toMatchObject({ shrunken: { missing: 1 } })
  })

  it('is parsed once its events count as not delivered any more', async () => {
    const { stage, poll } = await polled()
    await stage.change((checkpoint) => checkpoint, { unsee: 'all' })
    await poll()
    expect(stage.delivered).toHaveLength(300)
  })

  it('is parsed after a restart', async () => {
    const { stage } = await polled()
    await stage.clock.advance(3_600_000)
    await stage.pump({}, undefined, { latestPages: new LatestPages() })
    expect(await stage.read()).toMatchObject({ counters: { delivered: 150 } })
  })
})

it('the latest pages of 20,000 streams are known; of more, those of the stream that was read longest ago are not', () => {
  const latest = new LatestPages()
  const [first, second, ...others] = Array.from({ length: 20_001 }, (_, zone) =>
    newCheckpoint({ ...stream, zone }, 0, unknownOrdering),
  )
  const page = { hash: undefined, facts: buildFacts(), scan: buildScan(), requestedAt: 1 }
  for (const checkpoint of [first!, second!, ...others.slice(1), first!, others[0]!])
    latest.note(checkpoint, [page])
  const unknown = [first!, second!, ...others].filter((checkpoint) => latest.of(checkpoint) === undefined)
  expect(unknown).toEqual([second])
})
