import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { cancelled, Failure } from '../../src/domain/failure.ts'
import type { Page } from '../../src/domain/scan/page.ts'
import type { Source } from '../../src/ports/delivery.ts'
import { fetchAhead } from '../../src/pump/fetch-page.ts'
import { cursorAt, today } from '../domain/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { noTracer } from '../fakes/no-tracer.ts'
import { zone } from './stage.ts'

const request = { zone, day: today, cursor: cursorAt('next'), priority: 'live' } as const
const never = new AbortController().signal

function createAnswering(answer: (signal: AbortSignal) => Promise<Page>) {
  const clock = createFakeClock()
  const source: Source = { fetchPage: (_, signal) => answer(signal) }
  return {
    clock,
    ahead: (signal = never) => fetchAhead({ source, clock, tracer: noTracer }, request, signal),
  }
}

function pageThat(release: () => void): Page {
  return { events: [], more: false, next: null, bytes: 1, requestedAt: 0, release }
}

describe('a page that is fetched ahead', () => {
  it('is returned with the duration of its request', async () => {
    const page = pageThat(() => undefined)
    const answering = createAnswering(async () => {
      await answering.clock.sleep(700, never)
      return page
    })
    const ahead = answering.ahead()
    const taken = ahead.take()
    await answering.clock.advance(700)
    expect(await taken).toEqual({ page, tookMs: 700 })
    expect(ahead.cursor).toBe('next')
  })

  it('releases its bytes once when it is discarded, and never after it was taken', async () => {
    let released = 0
    const { ahead } = createAnswering(async () => pageThat(() => void released++))
    const thrown = ahead()
    await setImmediate()
    await thrown.discard()
    await thrown.discard()
    expect(released).toBe(1)
    const taken = ahead()
    await taken.take()
    await taken.discard()
    expect(released).toBe(1)
  })

  it('aborts its request when it is discarded, and waits for its end', async () => {
    let isOver = false
    const { ahead } = createAnswering(async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      await setImmediate()
      isOver = true
      throw cancelled()
    })
    await ahead().discard()
    expect(isOver).toBe(true)
  })

  it('reports its failure when it is taken, however late, and ignores it otherwise', async () => {
    const { ahead } = createAnswering(() => Promise.reject(new Failure('retry', 'network', 'no route')))
    const late = ahead()
    const dropped = ahead()
    await setImmediate()
    await expect(late.take()).rejects.toMatchObject({ code: 'network' })
    await dropped.discard()
  })

  it('ends with the pump that requested it', async () => {
    const stop = new AbortController()
    const { ahead } = createAnswering(
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(cancelled()))),
    )
    const waiting = ahead(stop.signal).take()
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
  })
})
