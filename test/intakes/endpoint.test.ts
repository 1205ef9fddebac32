import { beforeAll, expect, test } from 'vitest'
import { deadLettersOf, expectShipped, expectStored, idsOf, placeFor } from './place.ts'
import { endpointIntake, startEndpoint, type Endpoint } from './servers/nginx.ts'

let endpoint: Endpoint

beforeAll(async () => {
  endpoint = await startEndpoint()
})

test.each(['ndjson', 'json'] as const)(
  'nginx gets all events with %s although it takes small bodies only (413)',
  async (preset) => {
    const intake = endpointIntake(endpoint, `/small/${preset}`, preset)
    const sink = { ...intake.sinkAt(intake.url), compression: 'none', batch: { maxEvents: 200 } }
    const place = await placeFor(sink, { days: 60 })
    await expectShipped(place)
    await expectStored(intake, idsOf(place), { once: true })
    expect(await deadLettersOf(place)).toEqual([])
  },
)

test('nginx gets all events although it takes two bodies a second (429 with Retry-After)', async () => {
  const intake = endpointIntake(endpoint, '/slow/1')
  const place = await placeFor({ ...intake.sinkAt(intake.url), batch: { maxEvents: 25 } }, { days: 20 })
  await expectShipped(place)
  await expectStored(intake, idsOf(place), { once: true })
})
