import { expect, test } from 'vitest'
import { readableDays, workplace, zones } from '../e2e/workplace.ts'
import { deadLettersOf, expectStored, idsOf } from './place.ts'
import { linesOf, newTenant, startLoki } from './servers/loki.ts'

test.each([
  [
    'of a tenant',
    ['-distributor.ingestion-rate-limit-mb=0.02', '-distributor.ingestion-burst-size-mb=0.03'],
    'ingestion rate limit exceeded',
  ],
  [
    'of a stream',
    ['-ingester.per-stream-rate-limit=20KB', '-ingester.per-stream-rate-limit-burst=31KB'],
    'Per stream rate limit exceeded',
  ],
])(
  'an event that the limit %s never lets in is a dead letter, and all others are in Loki',
  async (_of, limits, why) => {
    const url = await startLoki(limits)
    const tenant = newTenant()
    const place = await workplace({ days: 10 })
    const loki = { name: 'siem', type: 'http', preset: 'loki', url, tenant, compression: 'none' }
    place.configure({ sinks: [loki] })
    const [zone, [, day]] = [zones[0], readableDays()]
    const [sample] = place.simulator.entries(zone, day)
    // Two thirds of what it takes in a moment, more than in a second; and more than it ever takes.
    const [slow, never] = [21_000, 60_000].map((length, index) => ({
      ...sample!,
      logId: `long-${index}`,
      labels: { ...sample!.labels, note: 'x'.repeat(length) },
    }))
    place.simulator.append(zone, day, [slow!, never!])
    await place.once()
    expect(await deadLettersOf(place)).toMatchObject([
      { id: 'long-1', reason: 'refused', answer: expect.stringContaining(why) },
    ])
    const taken = idsOf(place).filter((id) => id !== 'long-1')
    await expectStored({ url, sinkAt: () => loki, stored: () => linesOf(url, tenant) }, taken, {
      once: false,
    })
  },
)
