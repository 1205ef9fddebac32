import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '../src/clock.ts'
import { isFailure } from '../src/domain/failure.ts'
import { createFakeClock } from './fakes/fake-clock.ts'

const forever = new AbortController().signal

describe('the system clock', () => {
  it('a sleep ends on time by the monotonic clock', async () => {
    const began = systemClock.monotonic()
    await systemClock.sleep(20.5, forever)
    expect(systemClock.monotonic() - began).toBeGreaterThanOrEqual(20.5)
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000)
  })

  it('lets other work run even when it sleeps for 0 ms', async () => {
    let turned = false
    setImmediate(() => (turned = true))
    for (const ms of [0, -1, Number.NaN]) await systemClock.sleep(ms, forever)
    expect(turned).toBe(true)
  })

  it.each([1e6, 2 ** 31, 2 ** 40, Infinity])('sleeps %d ms unless it is aborted', async (ms) => {
    const control = new AbortController()
    const settled = vi.fn()
    const sleep = systemClock.sleep(ms, control.signal).finally(settled)
    await systemClock.sleep(20, forever)
    expect(settled).not.toHaveBeenCalled()
    control.abort(new Error('enough'))
    const failure: unknown = await sleep.catch((error: unknown) => error)
    expect(isFailure(failure, 'cancelled')).toBe(true)
    expect(failure).toMatchObject({ kind: 'cancelled', cause: new Error('enough') })
  })

  it('rejects at once if the signal was aborted before', async () => {
    await expect(systemClock.sleep(60_000, AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' })
  })

  it('removes its listeners', async () => {
    const control = new AbortController()
    await Promise.all([1, 2, 3].map((ms) => systemClock.sleep(ms, control.signal)))
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
    const sleep = systemClock.sleep(60_000, control.signal)
    control.abort()
    await expect(sleep).rejects.toMatchObject({ code: 'cancelled' })
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
  })

  it('leaves no timer that would keep the process running', () => {
    const script = `
      const { systemClock } = await import(${JSON.stringify(new URL('../src/clock.ts', import.meta.url).href)})
      const control = new AbortController()
      const sleep = systemClock.sleep(2 ** 40, control.signal)
      setImmediate(() => control.abort())
      await sleep.catch((error) => process.stdout.write(error.code))`
    const options = { timeout: 20_000, encoding: 'utf8' } as const
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', script], options)).toBe('cancelled')
  })
})

describe('the fake clock', () => {
  it('wakes sleepers in the order of their times, each at its time', async () => {
    const clock = createFakeClock(1000)
    const woken: [string, number][] = []
    const nap = async (name: string, ms: number) => {
      await clock.sleep(ms, forever)
      woken.push([name, clock.now()])
    }
    const chain = nap('a', 30).then(() => nap('a again', 5))
    const others = Promise.all([nap('b', 10), nap('c', 30), nap('late', 100)])
    await clock.advance(50)
    expect(woken).toEqual([
      ['b', 1010],
      ['a', 1030],
      ['c', 1030],
      ['a again', 1035],
    ])
    expect(clock.now()).toBe(1050)
    expect(clock.sleeping()).toBe(1)
    await clock.advance(50)
    await Promise.all([chain, others])
    expect(clock.monotonic()).toBe(100)
  })

  it('wakes no sleeper before its time', async () => {
    const clock = createFakeClock(0)
    const settled = vi.fn()
    const sleep = clock.sleep(100, forever).then(settled)
    await clock.advance(99)
    expect(settled).not.toHaveBeenCalled()
    await clock.advance(1)
    await sleep
    expect(clock.sleeping()).toBe(0)
  })

  it('rejects a sleeper whose signal aborts, and leaves no listener', async () => {
    const clock = createFakeClock()
    const control = new AbortController()
    const sleep = clock.sleep(10, control.signal)
    control.abort()
    await expect(sleep).rejects.toMatchObject({ code: 'cancelled' })
    await expect(clock.sleep(10, control.signal)).rejects.toMatchObject({ code: 'cancelled' })
    expect(clock.sleeping()).toBe(0)
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
  })

  it('jumps the host clock without waking a sleeper', async () => {
    const clock = createFakeClock(0)
    const settled = vi.fn()
    const sleep = clock.sleep(10, forever).then(settled)
    clock.jump(60_000)
    expect([clock.now(), clock.monotonic()]).toEqual([60_000, 0])
    await clock.advance(9)
    expect(settled).not.toHaveBeenCalled()
    await clock.advance(1)
    await sleep
  })

  it('advances time automatically if configured', async () => {
    const clock = createFakeClock(0)
    const passed = clock.sleep(5, forever)
    clock.autoAdvance(true)
    await clock.sleep(3_600_000, forever)
    expect(clock.now()).toBe(3_600_000)
    await passed
    await expect(clock.sleep(1, AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' })
    clock.autoAdvance(false)
    const waits = clock.sleep(1, forever)
    expect(clock.sleeping()).toBe(1)
    await clock.advance(1)
    await waits
  })
})
