import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { at, hourMs } from '../domain/builders.ts'
import { createStage, eventAt, type PageAnswer, type Stage } from './stage.ts'

const dayMs = 24 * hourMs

/** A day that lists one event more with each hour until it ends. */
async function openDay(): Promise<Stage & { listed(): PageAnswer; hours(count: number): Promise<void> }> {
  const stage = await createStage()
  const beganMs = stage.clock.steady()
  const listed = () => {
    const count = 1 + Math.floor(Math.min(stage.clock.steady() - beganMs, 20 * hourMs) / hourMs)
    return { events: Array.from({ length: count }, (_, index) => eventAt(index)) }
  }
  stage.script.answer = listed
  return {
    ...stage,
    listed,
    async hours(count) {
      for (let minutes = 0; minutes < count * 60; minutes += 10) {
        await stage.pump()
        await stage.clock.advance(600_000)
      }
    },
  }
}

async function expectOpenAndWhole(day: Awaited<ReturnType<typeof openDay>>): Promise<void> {
  await day.pump()
  expect((await day.read())?.ended).toBeUndefined()
  expect(await day.store.catalogue.gaps()).toEqual([])
  expect(day.delivered).toHaveLength(day.listed().events.length)
}

const steps = [-10, -3, 3, 10].flatMap((days) => [
  { days, hours: 1, how: 'for an hour' },
  { days, hours: undefined, how: 'for ever' },
])

describe('a wall clock that steps while the day is open', () => {
  it.each(steps)('by $days days $how ends no day and loses nothing', async ({ days, hours }) => {
    const day = await openDay()
    await day.hours(2)
    day.clock.jump(days * dayMs)
    await day.hours(hours ?? 2)
    if (hours !== undefined) day.clock.jump(-days * dayMs)
    await day.hours(2)
    await expectOpenAndWhole(day)
  })
})

const connection = {}
const wrongDates = [-10, -3, 3, 10].flatMap((days) => [
  { days, answers: 1, how: 'once' },
  { days, answers: 2, how: 'twice in a row, over two connections' },
  { days, answers: 12, how: 'for two hours, over many connections' },
  { days, answers: 12, how: 'for two hours, over one connection', connection },
])

describe('answers with a wrong Date while the day is open', () => {
  it.each(wrongDates)(
    '$days days off $how end no day and lose nothing',
    async ({ days, answers, ...over }) => {
      const day = await openDay()
      await day.hours(2)
      let left = answers
      day.script.answer = () => ({
        ...day.listed(),
        ...(left-- > 0 && { clockOffsetMs: days * dayMs, ...over }),
      })
      await day.hours(4)
      await expectOpenAndWhole(day)
    },
  )

  it('do not end it either with a refusal of the day by the wrong clock', async () => {
    const day = await openDay()
    await day.hours(2)
    let left = 3
    day.script.answer = () => {
      const serverDate = day.clock.steady() + 10 * dayMs
      if (left-- > 0) return new Failure('refuse', 'window_closed', 'outside', { serverDate, connection: {} })
      return day.listed()
    }
    await day.hours(4)
    await expectOpenAndWhole(day)
  })

  it('make no scan count as a later one: the day is read to its end once they are right', async () => {
    const day = await openDay()
    await day.hours(1)
    let left = 2
    day.script.answer = () => ({ ...day.listed(), ...(left-- > 0 && { clockOffsetMs: 3 * dayMs }) })
    await day.hours(22)
    await day.clock.advance(at(68) - day.clock.now())
    expect((await day.read())?.ended).toBeUndefined()
    await day.hours(1)
    expect(await day.read()).toMatchObject({ ended: { as: 'complete' } })
    expect(day.delivered).toHaveLength(day.listed().events.length)
  })
})

describe('a host whose clock is days behind', () => {
  it('ends a day when its own clock has passed the last scan too', async () => {
    const day = await openDay()
    day.clock.jump(-5 * dayMs)
    for (const hours of [70, 69 + 5 * 24]) {
      await day.clock.advance(at(hours) - day.clock.steady() - 2 * hourMs)
      await day.hours(1)
      expect((await day.read())?.ended).toBeUndefined()
    }
    await day.hours(2)
    expect(await day.read()).toMatchObject({ ended: { as: 'complete' } })
    expect(day.delivered).toHaveLength(day.listed().events.length)
  })
})
