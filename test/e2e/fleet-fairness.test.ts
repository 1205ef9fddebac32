import { describe, expect, it } from 'vitest'
import { redisServerAvailable } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { fleet, fleetZones } from './fleet.ts'
import { receiver } from './receiver.ts'
import { linesBelow } from './shipped.ts'

const eventsPerDay = 20
const whole = fleetZones.length * 3 * eventsPerDay

describe.skipIf(!redisServerAvailable())('two sinks over Redis, one of which hangs', () => {
  it('still ships to the other one, and to both when it answers again', async () => {
    const siem = await receiver()
    siem.answer(() => 'hang')
    // More streams of each sink than there are places, and a wait that outlasts the test.
    const { place, start } = await fleet({
      simulator: { days: eventsPerDay },
      settings: {
        poll: { everySeconds: 1 },
        workers: { streams: 4 },
        sinks: [
          { name: 'siem', type: 'http', url: siem.url, timeoutSeconds: 600, compression: 'none' },
          { name: 'archive', type: 'file', path: 'events' },
        ],
      },
    })
    const worker = start('all', 'first')
    const probe = await worker.probe()
    const jobs = async (state: string) =>
      [...(await probe.metric('queue_jobs'))]
        .filter(([labels]) => labels.endsWith(`priority="live",state="${state}"`))
        .reduce((sum, [, count]) => sum + count, 0)
    await waitFor(() => linesBelow(place.events).length === whole, {
      what: 'all lines in files',
    })
    await waitFor(async () => siem.got.length === 2 && (await jobs('active')) === 2, {
      what: 'two that hang',
    })

    // Its polls go on: three more of each zone, and the lag stays small.
    const polls = async () => {
      const pages = await probe.metric('pages_fetched_total')
      return fleetZones.map((zone) => pages.get(`zone="${zone}",sink="archive"`) ?? 0)
    }
    const before = await polls()
    await waitFor(async () => (await polls()).every((pages, index) => pages >= (before[index] ?? 0) + 3), {
      what: 'three more polls of each zone',
    })
    await waitFor(
      async () => {
        const lags = await probe.metric('zone_lag_seconds')
        return fleetZones.every((zone) => (lags.get(`zone="${zone}",sink="archive"`) ?? Infinity) < 10)
      },
      { what: 'a small lag of the files' },
    )
    expect(siem.got).toHaveLength(2)
    expect(await jobs('waiting')).toBeGreaterThanOrEqual(10)

    // It stops in time all the same; what hung comes again.
    const exit = await worker.kill('SIGTERM')
    expect(exit?.code).toBe(0)
    siem.answer(() => ({ status: 200 }))
    const second = start('all', 'second')
    await waitFor(() => new Set(siem.taken).size === whole, {
      what: () => `all events over HTTP, with ${siem.taken.length}: ${second.stderr().slice(-2000)}`,
    })
    expect(linesBelow(place.events)).toHaveLength(whole)
    await second.kill('SIGTERM')
  })
})
