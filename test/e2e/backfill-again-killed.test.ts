import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { dayOf, shiftDay } from '../../src/domain/day.ts'
import { allDone, inStore, told } from '../commands/backfilling.ts'
import { hiddenBelow } from './backfill-again.ts'
import { compareFiles, exactly, partsBelow } from './shipped.ts'
import { endOf, workplace, zones, type Workplace } from './workplace.ts'

const yesterday = shiftDay(dayOf(Date.now()), -1)
const perDay = 240

/** For whoever works on the state next. */
function queueAgain(place: Workplace): Promise<void> {
  const id = randomBytes(5).toString('hex')
  const range = { from: yesterday, to: yesterday }
  const streams = zones.map((zone) => ({
    stream: { zone, day: yesterday, sink: 'archive' },
    state: 'queued' as const,
  }))
  const backfill = { id, createdAtMs: Date.now(), ...range, state: 'running' as const, again: true, streams }
  return inStore(place, (store) => store.addBackfill(backfill))
}

describe('killed by its own hand while a day is shipped once more', () => {
  // Transactions: taking a stream, each page, what begins and ends it; there are two streams, with four parts each.
  const moments = `
    fetch:3 deliver:2 deliver:7 datasync:5 rotation:2 rotation:4
    transaction:4 transaction:12 transaction:20
    move:1 move:4 move:5 move:8`
  const deadlines = moments
    .trim()
    .split(/\s+/)
    .flatMap((moment) => [`before:${moment}`, `after:${moment}`])

  test.for(deadlines)('%s', async (deadline) => {
    const poll = { everySeconds: 0.5, firstRunDays: 1 }
    const place = await workplace({ days: { [yesterday]: perDay }, pageSize: 20 }, { poll })
    const { simulator, events } = place
    const rotate = { maxBytes: 30_000 }
    place.configure({ sinks: [{ name: 'archive', type: 'file', path: events, rotate }] })
    const first = await told(place, 'backfill', '--from', yesterday, '--to', yesterday)
    expect(first.code, first.stderr).toBe(0)
    const before = partsBelow(events)
    expect(before.length).toBeGreaterThanOrEqual(6)

    await queueAgain(place)
    const ended = await endOf(place.entry(['--kill', deadline]))
    expect(ended.signal, ended.stderr).toBe('SIGKILL')
    const shipped = compareFiles(events, simulator, zones, [yesterday])
    // At no moment is an event out of sight; some may stand twice until the next pump.
    expect(shipped).toMatchObject({ missing: 0, strange: 0 })
    if (!deadline.includes('move')) expect(shipped).toEqual(exactly(zones.length * perDay))

    await using running = place.entry([])
    await allDone(place, running.stderr)
    await running.kill('SIGTERM')
    expect(compareFiles(events, simulator, zones, [yesterday])).toEqual(exactly(zones.length * perDay))
    expect(partsBelow(events).filter((part) => before.includes(part))).toEqual([])
    expect(hiddenBelow(events)).toEqual({ waiting: [], replaced: before })
    const audit = await told(place, 'audit', '--zone', zones.join(','), '--day', yesterday)
    expect(audit.code, audit.stdout).toBe(0)
  })
})
