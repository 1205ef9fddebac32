import { expect, it } from 'vitest'
import { dayOf } from '../../src/domain/day.ts'
import { cancelled } from '../../src/domain/failure.ts'
import { fetchAhead } from '../../src/pump/fetch-page.ts'
import { createEventLogSource } from '../../src/shield/event-logs.ts'
import { PageBudget } from '../../src/shield/client/page-budget.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { noTracer } from '../fakes/no-tracer.ts'
import { entry } from './samples.ts'
import { answer, emptyPage, startedApi } from './shield-api.ts'

const defaultBytesInFlight = 67_108_864
const logs = Array.from({ length: 6 }, (_, index) =>
  entry({ logId: `e${index}`, log: { text: 'x'.repeat(500_000) } }),
)

it('six streams of a sink that hangs leave memory for the pages of another one', async () => {
  const budget = new PageBudget(defaultBytesInFlight)
  const api = await startedApi({ budget, maxPageBytes: 33_554_432, connections: 32 })
  api.reply(answer(200, { ...emptyPage, logs }))
  const { client, clock } = api
  const redactor = createRedactor('off')
  const source = createEventLogSource(
    () => client,
    () => redactor,
  )
  const zone = { id: 101, name: 'shop', account: 'main' }
  const request = { zone, day: dayOf(Date.now()), cursor: null, priority: 'live' } as const
  const stop = new AbortController()
  const fetchFor = (sink: string) => source.fetchPage({ ...request, sink }, stop.signal)
  // From here on the size of a page is known.
  ;(await fetchFor('healthy')).release()
  let held = 0
  const hung = Promise.allSettled(
    Array.from({ length: 6 }, async () => {
      await fetchFor('hung')
      held++
      // A sink that took pages before has one fetched ahead for each stream.
      fetchAhead({ source, clock, tracer: noTracer }, { ...request, sink: 'hung' }, stop.signal)
    }),
  )
  await expect.poll(() => held).toBeGreaterThanOrEqual(3)
  for (let pages = 0; pages < 3; pages++) {
    const page = await fetchFor('healthy')
    expect(page.bytes).toBeGreaterThan(3_000_000)
    page.release()
  }
  expect(budget.heldBytes).toBeLessThanOrEqual((defaultBytesInFlight * 3) / 4)
  stop.abort(cancelled())
  await hung
})
