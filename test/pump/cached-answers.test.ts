import { describe, expect, it } from 'vitest'
import { endOf, startOf } from '../../src/domain/day.ts'
import { LatestPages } from '../../src/pump/latest-pages.ts'
import { sharePages } from '../../src/shield/shared-pages.ts'
import { PageBudget } from '../../src/shield/client/page-budget.ts'
import { policy, stream } from '../domain/builders.ts'
import { createStage, firstEvents, listingOf, type Answer, type Stage } from './stage.ts'
import { withMemory } from './with-memory.ts'

const minuteMs = 60_000

/** The listing as the stage has it, of which a cache answers some requests. */
function fromCache(answer: Answer, ageMsOf: (number: number) => number): Answer {
  return (request, number) => {
    const page = answer(request, number)
    const ageMs = ageMsOf(number)
    if (page instanceof Error || ageMs === 0) return page
    const { clockOffsetMs: _, ...cached } = page
    return { ...cached, ageMs }
  }
}

async function stageOf(answer: Answer): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = answer
  stage.script.load = {}
  return stage
}

/** An answer from no cache has told it. */
const hearTime = ({ apiClock }: Stage) => apiClock.learn('default', 0, {})

describe('an answer from a cache', () => {
  it('counts as old as it is, and ships what it lists', async () => {
    const stage = await stageOf(fromCache(listingOf(firstEvents(3), 5), () => 10 * minuteMs))
    hearTime(stage)
    const askedMs = stage.clock.now()
    await stage.pump()
    expect(stage.ids()).toEqual(['e0', 'e1', 'e2'])
    const lastFull = { beganAtMs: askedMs - 10 * minuteMs, ageMs: 10 * minuteMs }
    expect(await stage.read()).toMatchObject({ caughtUpAtMs: askedMs - 10 * minuteMs, lastFull })
  })

  it('sets no clock; while nothing else has told the time, it proves no later state than was proven', async () => {
    let ageMs = 10 * minuteMs
    const stage = await stageOf(fromCache(listingOf(firstEvents(3), 5), () => ageMs))
    await stage.pump()
    expect(stage.ids()).toEqual(['e0', 'e1', 'e2'])
    expect(stage.apiClock.isConfirmed('default')).toBe(false)
    expect(await stage.read()).toMatchObject({ caughtUpAtMs: startOf(stream.day) })
    ageMs = 0
    await stage.clock.advance(policy.everyMs)
    const askedMs = stage.clock.now()
    await stage.pump()
    expect(await stage.read()).toMatchObject({ caughtUpAtMs: askedMs })
  })

  it('moves no caught-up time back, and is asked for again at the pace of polls', async () => {
    let ageMs = 0
    const stage = await stageOf(fromCache(listingOf(firstEvents(3), 5), () => ageMs))
    await stage.pump()
    const { caughtUpAtMs } = (await stage.read())!
    ageMs = 6 * 60 * minuteMs
    for (let poll = 1; poll <= 4; poll++) {
      await stage.clock.advance(policy.everyMs)
      await stage.pump()
      expect(stage.requests()).toBe(1 + poll)
    }
    expect(await stage.read()).toMatchObject({ caughtUpAtMs })
  })

  it('completes no day that it was made before the end of, and is asked for again at the pace of polls', async () => {
    let ageMs = 0
    const stage = await stageOf(fromCache(listingOf(firstEvents(3), 5), () => ageMs))
    await stage.pump()
    await stage.clock.advance(endOf(stream.day) + policy.settleAfterMs.at(-1)! + minuteMs - stage.clock.now())
    ageMs = 10 * minuteMs
    await stage.pump()
    expect(stage.requests()).toBe(2)
    ageMs = 0
    await stage.clock.advance(policy.everyMs)
    await stage.pump()
    expect(await stage.read()).toMatchObject({ ended: { as: 'complete' } })
  })

  it('that is older than the page before it proves nothing, though what it lists is shipped', async () => {
    let hasCache = true
    const answer = fromCache(listingOf(firstEvents(6), 2), (number) =>
      hasCache && number === 2 ? minuteMs : 0,
    )
    const stage = await stageOf(answer)
    expect(await stage.pump()).toMatchObject({ kind: 'retry', code: 'scan_guarded' })
    expect(stage.ids()).toHaveLength(6)
    const before = (await stage.read())!
    expect([before.lastFull, before.caughtUpAtMs]).toEqual([undefined, undefined])
    hasCache = false
    await stage.clock.advance(minuteMs)
    await stage.pump()
    expect(await stage.read()).toMatchObject({ lastFull: { found: 0 } })
  })

  it('that is no older than the page before it counts', async () => {
    const ages = [0, 10 * minuteMs, 5 * minuteMs, 0]
    const stage = await stageOf(fromCache(listingOf(firstEvents(6), 2), (number) => ages[number] ?? 0))
    hearTime(stage)
    const askedMs = stage.clock.now()
    expect(await stage.pump()).toBeUndefined()
    expect(await stage.read()).toMatchObject({ lastFull: { beganAtMs: askedMs - 10 * minuteMs } })
  })

  it('is as old for each stream that shares it', async () => {
    const stage = await stageOf(fromCache(listingOf(firstEvents(3), 5), () => 10 * minuteMs))
    hearTime(stage)
    const source = sharePages(withMemory(stage.deps.source, new PageBudget(1e9)), {
      sinks: 2,
      keptBytes: 1e9,
      clock: stage.clock,
    })
    const askedMs = stage.clock.now()
    const pumpOf = (sink: string) =>
      stage.pump({ stream: { ...stream, sink }, sink: { ...stage.plainSink, name: sink } }, undefined, {
        source,
        latestPages: new LatestPages(),
      })
    await Promise.all(['a', 'b'].map(pumpOf))
    expect(stage.requests()).toBe(1)
    for (const sink of ['a', 'b'])
      expect(await stage.store.ledger.read({ ...stream, sink })).toMatchObject({
        caughtUpAtMs: askedMs - 10 * minuteMs,
      })
  })
})
