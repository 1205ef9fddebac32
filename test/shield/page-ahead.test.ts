import { describe, expect, it, vi } from 'vitest'
import { dayOf } from '../../src/domain/day.ts'
import { fetchAhead } from '../../src/pump/fetch-page.ts'
import { createEventLogSource } from '../../src/shield/event-logs.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { noTracer } from '../fakes/no-tracer.ts'
import { entry } from './samples.ts'
import { answer, emptyPage, never, type Reply, type ShieldApi, startedApi } from './shield-api.ts'

const zone = { id: 101, name: 'shop', account: 'main' }
const request = { zone, day: dayOf(Date.now()), cursor: null, priority: 'live' } as const
const page = { ...emptyPage, logs: [entry()] }

async function ahead(signal: AbortSignal, ...replies: Reply[]) {
  const api = await startedApi()
  api.reply(...replies)
  const redactor = createRedactor('off')
  const read = vi.fn(() => redactor)
  const source = createEventLogSource(() => api.client, read)
  return { fetched: fetchAhead({ source, clock: api.clock, tracer: noTracer }, request, signal), read, api }
}

const answered = async (started: ShieldApi) =>
  await expect.poll(() => started.budget.heldBytes).toBe(4 * JSON.stringify(page).length)

describe('a page that is fetched ahead', () => {
  it('is not parsed until it is taken', async () => {
    const { fetched, read, api } = await ahead(never, answer(200, page))
    await answered(api)
    await api.clock.advance(5_000)
    expect(read).not.toHaveBeenCalled()
    expect(api.internalEvents.filter(({ name }) => name === 'ApiAnswered')).toEqual([])
    const taken = await fetched.take()
    expect(taken.page.events).toHaveLength(1)
    // Nobody waited for it, and the API did not take that long either.
    expect(taken.tookMs).toBeLessThan(1_000)
    const told = api.internalEvents.filter((internalEvent) => internalEvent.name === 'ApiAnswered')
    expect(told.map(({ outcome, seconds }) => [outcome, seconds < 1])).toEqual([['ok', true]])
    taken.page.release()
    expect(api.budget.heldBytes).toBe(0)
  })

  it('is requested again if the answer is an error, at once or when it is taken', async () => {
    const cut = answer(200, JSON.stringify(page).slice(0, -1))
    for (const bad of [answer(503), cut]) {
      const { fetched, api } = await ahead(never, bad, answer(200, page))
      await expect.poll(() => api.budget.heldBytes).toBeGreaterThan(3 * JSON.stringify(page).length)
      expect((await fetched.take()).page.events).toHaveLength(1)
      expect(api.requests).toHaveLength(2)
    }
  })

  it('can be discarded unread', async () => {
    const { fetched, read, api } = await ahead(never, answer(200, page))
    await answered(api)
    await fetched.discard()
    expect(read).not.toHaveBeenCalled()
    expect(api.budget.heldBytes).toBe(0)
  })

  it('is aborted by a stop, also after it was discarded', async () => {
    const stop = new AbortController()
    const { fetched, api } = await ahead(stop.signal, answer(200, page))
    await answered(api)
    stop.abort()
    await expect(fetched.take()).rejects.toMatchObject({ kind: 'cancelled' })
    expect(api.budget.heldBytes).toBe(0)
  })
})
