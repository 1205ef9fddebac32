import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { createSteady, systemClock } from '../src/clock.ts'
import { isFailure } from '../src/domain/failure.ts'

const forever = new AbortController().signal

describe.each([10, 1_000])('a steady clock, with an uptime in steps of %d ms', (resolutionMs) => {
  function createHost() {
    let [wallMs, awakeMs, sleptMs] = [1_790_000_000_000, 5_000, 0]
    const steady = createSteady(
      () => wallMs,
      () => awakeMs,
      () => Math.floor((60_000_123 + awakeMs + sleptMs) / resolutionMs) * resolutionMs,
    )
    const startMs = wallMs
    return {
      sinceStart: () => steady() - startMs,
      pass(ms: number) {
        awakeMs += ms
        wallMs += ms
      },
      sleep(ms: number) {
        sleptMs += ms
        wallMs += ms
      },
      step: (ms: number) => void (wallMs += ms),
    }
  }

  it('never goes back and is precise', () => {
    const host = createHost()
    let passedMs = 0
    for (let turn = 0; turn < 20_000; turn++) {
      const ms = (turn * 37.3) % 811
      host.pass(ms)
      passedMs += ms
      expect(host.sinceStart()).toBeCloseTo(passedMs, 3)
    }
  })

  it('does not follow steps of the wall clock', () => {
    const host = createHost()
    for (const ms of [864_000_000, -1_728_000_000, 3_600_000]) {
      host.step(ms)
      host.pass(1_500)
    }
    expect(host.sinceStart()).toBeCloseTo(4_500, 3)
  })

  it('runs while the host sleeps', () => {
    const host = createHost()
    let passedMs = 0
    for (const sleptMs of [28_800_000, 1_500, 1_500, 1_500, 250_000_000]) {
      host.sleep(sleptMs)
      host.pass(1_000)
      passedMs += sleptMs + 1_000
      // Short sleeps count together, once they are longer than the resolution.
      expect(Math.abs(host.sinceStart() - passedMs)).toBeLessThan(4_000)
    }
  })
})

describe('the system clock', () => {
  it('has a steady clock that starts with the wall clock', async () => {
    const before = systemClock.steady()
    expect(Math.abs(before - Date.now())).toBeLessThan(2_000)
    await systemClock.sleep(5, forever)
    expect(systemClock.steady() - before).toBeGreaterThanOrEqual(5)
  })

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

  it('removes its listeners, and rejects at once if the signal was aborted before', async () => {
    await expect(systemClock.sleep(60_000, AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' })
    const control = new AbortController()
    await Promise.all([1, 2, 3].map((ms) => systemClock.sleep(ms, control.signal)))
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
    const sleep = systemClock.sleep(60_000, control.signal)
    control.abort()
    await expect(sleep).rejects.toMatchObject({ code: 'cancelled' })
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
  })
})
