import { describe, expect, it } from 'vitest'
import { keepLatest, orAborted, withDeadline, within } from '../../src/domain/promises.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

const never = new AbortController().signal
const hangs = () => new Promise<never>(() => undefined)

describe('within', () => {
  it('returns the result of the promise, or that it is late, and leaves no sleeper', async () => {
    const clock = createFakeClock()
    expect(await within(100, Promise.resolve(7), clock)).toEqual({ value: 7 })
    await expect(within(100, Promise.reject(new Error('no')), clock)).rejects.toThrow('no')
    const late = within(100, hangs(), clock)
    await clock.advance(99)
    expect(clock.sleeping()).toBe(1)
    await clock.advance(1)
    expect(await late).toBe('late')
    expect(clock.sleeping()).toBe(0)
  })

  it('ignores a later failure of the promise', async () => {
    const clock = createFakeClock()
    const { promise, reject } = Promise.withResolvers<never>()
    const late = within(100, promise, clock)
    await clock.advance(100)
    expect(await late).toBe('late')
    reject(new Error('nobody listens'))
    await clock.advance(1)
  })
})

describe('orAborted', () => {
  it('gives up as soon as the signal aborts', async () => {
    const abort = new AbortController()
    const waiting = orAborted(hangs(), abort.signal)
    abort.abort()
    await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' })
    await expect(orAborted(Promise.resolve(1), abort.signal)).rejects.toMatchObject({ kind: 'cancelled' })
    expect(await orAborted(Promise.resolve(1), never)).toBe(1)
  })

  it('gives work the granted time after the abort', async () => {
    const clock = createFakeClock()
    const abort = new AbortController()
    const ends = Promise.withResolvers<string>()
    const grace = { ms: 1000, clock }
    const ending = orAborted(ends.promise, abort.signal, grace)
    const hanging = orAborted(hangs(), abort.signal, grace).catch((error: unknown) => error)
    abort.abort()
    await clock.advance(999)
    ends.resolve('taken back')
    expect(await ending).toBe('taken back')
    await clock.advance(1)
    expect(await hanging).toMatchObject({ kind: 'cancelled' })
    expect(clock.sleeping()).toBe(0)
  })
})

describe('withDeadline', () => {
  const reasonOf = (signal: AbortSignal) =>
    new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))

  it('aborts the work when its time is over, by the clock', async () => {
    const clock = createFakeClock()
    const reason = withDeadline(30_000, never, clock, reasonOf)
    await clock.advance(29_999)
    expect(clock.sleeping()).toBe(1)
    await clock.advance(1)
    expect(await reason).toMatchObject({ name: 'TimeoutError' })
  })

  it('aborts the work with its caller, and leaves no sleeper', async () => {
    const clock = createFakeClock()
    const abort = new AbortController()
    const reason = withDeadline(30_000, abort.signal, clock, reasonOf)
    abort.abort('stop')
    expect(await reason).toBe('stop')
    const aborted = await withDeadline(30_000, abort.signal, clock, async (signal) => signal.aborted)
    expect(aborted).toBe(true)
    expect(clock.sleeping()).toBe(0)
  })
})

function slow() {
  const clock = createFakeClock()
  const answers: PromiseWithResolvers<number>[] = []
  const latest = keepLatest(
    () => {
      const answer = Promise.withResolvers<number>()
      answers.push(answer)
      return answer.promise
    },
    2_000,
    clock,
  )
  return { clock, latest, answers }
}

it('one reading serves all who ask while the store is slow, and for a while after', async () => {
  const { clock, latest, answers } = slow()
  const asked = [latest.read()]
  await clock.advance(10_000)
  asked.push(latest.read())
  answers[0]!.resolve(1)
  expect(await Promise.all(asked)).toEqual([1, 1])
  await clock.advance(1_999)
  latest.dropOld()
  expect(await latest.read()).toBe(1)
  await clock.advance(1)
  void latest.read()
  expect(answers).toHaveLength(2)
})

it('a reading that fails or hangs is repeated', async () => {
  const { clock, latest, answers } = slow()
  const failing = latest.read()
  answers[0]!.reject(new Error('the store is away'))
  await expect(failing).rejects.toThrow('the store is away')
  await clock.advance(2_001)
  void latest.read()
  await clock.advance(15_001)
  void latest.read()
  expect(answers).toHaveLength(3)
})
