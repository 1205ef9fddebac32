import { describe, expect, test } from 'vitest'
import { steps } from '../entry/steps.ts'
import { compareFiles, exactly, linesBelow, partsBelow } from './shipped.ts'
import { endOf, readableDays, workplace, zones } from './workplace.ts'

describe('killed by its own hand, early and later on', () => {
  const moments = steps.flatMap((step) => [`before:${step}`, `after:${step}`])

  test.for(moments)('%s', async (moment) => {
    const days = readableDays()
    const place = await workplace({ days: 200, pageSize: 40 })
    const { simulator, events } = place
    place.configure({
      sinks: [{ name: 'archive', type: 'file', path: events, rotate: { maxBytes: 30_000 } }],
    })
    for (const nth of [1, 7]) {
      const ended = await endOf(place.entry(['--once', '--kill', `${moment}:${nth}`]))
      expect(ended.signal, ended.stderr).toBe('SIGKILL')
    }
    const last = await place.once()
    expect(last.code, last.stderr).toBe(0)
    const whole = zones.length * days.length * 200
    expect(compareFiles(events, simulator, zones, days)).toEqual(exactly(whole))
    expect(partsBelow(events).length).toBeGreaterThan(zones.length * days.length)
  })

  test('ships everything when nothing kills it', async () => {
    const days = readableDays()
    const place = await workplace({ days: 200, pageSize: 40 })
    const ended = await endOf(place.entry(['--once']))
    expect(ended.code, ended.stderr).toBe(0)
    expect(linesBelow(place.events)).toHaveLength(zones.length * days.length * 200)
  })
})
