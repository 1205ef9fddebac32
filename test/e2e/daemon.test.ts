import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { receiver } from './receiver.ts'
import { compareFiles, exactly, keysOf, linesBelow, type Line } from './shipped.ts'
import { logged, readableDays, workplace, zones } from './workplace.ts'
import * as faults from '../simulator/faults.ts'

/** Daemons of other tests run beside these. */
const server = { port: 0 }

/** Ends a daemon as an operator would. What hangs hangs for longer than a test may last. */
async function stopped(child: TestProcess): Promise<void> {
  const ended = await child.kill('SIGTERM')
  expect(ended, child.stderr()).toEqual({ code: 0, signal: null })
}

test('live traffic arrives in files, and SIGTERM ends the daemon', async () => {
  const place = await workplace({ days: 300, live: { ratePerSecond: 20 } }, { server })
  const { simulator, events } = place
  const child = place.start(['run'])
  await waitFor(() => linesBelow(events).length > 2 * 3 * 300 + 50, {
    what: () => `live lines: ${child.stderr()}`,
  })
  // Stopped in the midst of traffic; what it had not shipped by then is shipped by the next one.
  await stopped(child)
  const days = readableDays()
  const stoppedAt = compareFiles(events, simulator, zones, days)
  expect(stoppedAt).toMatchObject({ repeated: 0, strange: 0 })
  simulator.set({ live: { ratePerSecond: 0 } })
  const next = place.start(['run'])
  await caughtUp(place, next)
  await stopped(next)
  const whole = keysOf(simulator, zones, days).length
  expect(compareFiles(events, simulator, zones, days)).toEqual(exactly(whole))
  expect(logged(next.stderr()).at(-1)).toMatchObject({ event: 'Stopped' })
  expect(next.stdout()).toBe('')
})

test.each(['the sink', 'the API'])('SIGTERM ends it while %s hangs', async (what) => {
  const siem = await receiver()
  siem.answer(() => 'hang')
  const place = await workplace({ days: 50 }, { server })
  place.configure({ sinks: [{ name: 'siem', type: 'http', url: siem.url, timeoutSeconds: 600 }] })
  if (what === 'the API') place.simulator.fail({ times: Infinity, fault: faults.hang() })
  const asked = what === 'the API' ? place.simulator.requests : siem.got
  const child = place.start(['run'])
  await waitFor(() => asked.length > 0, { what: () => `a request: ${child.stderr()}` })
  await stopped(child)
})

test('a second signal ends it at once', async () => {
  const siem = await receiver()
  siem.answer(() => 'hang')
  const place = await workplace({ days: 50 }, { server })
  place.configure({ sinks: [{ name: 'siem', type: 'http', url: siem.url }] })
  const child = place.start(['run'])
  await waitFor(() => siem.got.length > 0, { what: () => `a request: ${child.stderr()}` })
  // Held still while both are sent, so that the first has not ended it before the second comes.
  await child.kill('SIGSTOP')
  process.kill(child.pid, 'SIGINT')
  process.kill(child.pid, 'SIGTERM')
  await child.kill('SIGCONT')
  const { code } = await child.exited
  expect([128 + 2, 128 + 15]).toContain(code)
})

test('a second run on the same state ends and names the first', async () => {
  const place = await workplace({ days: 10 }, { server })
  await using first = place.start(['run'])
  await first.waitForLine(/"event":"Started"/)
  const second = await place.ended(['run'])
  expect(second.code).toBe(1)
  expect(second.stderr).toContain('another shieldlog runs on this state')
  expect(second.stderr).toContain(String(first.pid))
  expect(second.stderr).not.toMatch(/^\s+at /m)
  expect(first.isRunning()).toBe(true)
  await stopped(first)
})

describe('SIGHUP', () => {
  test('adds a zone and a sink and changes the redaction without losing or repeating a line', async () => {
    const live = { ratePerSecond: 10 }
    const place = await workplace({ zones: [101, 102, 103], days: 300, live }, { server })
    const { simulator, events, folder } = place
    place.configure({ redact: 'off' })
    const child = place.start(['run'])
    await waitFor(() => linesBelow(events).length > 2 * 3 * 300, {
      what: () => `the first lines: ${child.stderr()}`,
    })
    const copies = join(folder, 'copies')
    const all = [101, 102, 103]
    place.configure({
      zones: all,
      redact: { headers: ['cookie', 'authorization', 'user-agent'] },
      sinks: [
        { name: 'archive', type: 'file', path: events },
        { name: 'second', type: 'file', path: copies },
      ],
    })
    await child.kill('SIGSTOP')
    const before = linesBelow(events)
    process.kill(child.pid, 'SIGHUP')
    await child.kill('SIGCONT')
    await child.waitForLine(/"event":"ConfigReloaded"/)
    simulator.set({ live: { ratePerSecond: 0 } })
    for (const zone of all) simulator.append(zone, readableDays()[2], 5)
    await caughtUp(place, child, { of: all })
    await caughtUp(place, child, { of: all, sink: 'second', path: copies })
    await stopped(child)
    const days = readableDays()
    const whole = keysOf(simulator, all, days).length
    expect(compareFiles(events, simulator, all, days)).toEqual(exactly(whole))
    expect(compareFiles(copies, simulator, all, days)).toEqual(exactly(whole))
    // What was shipped before stays as it was; what came later is redacted.
    const secret = /Bearer eyJ/
    const holdsSecret = ({ line }: { readonly line: Line }) => secret.test(JSON.stringify(line))
    const kept = new Map(linesBelow(events).map(({ key, line }) => [key, line]))
    expect(before.filter(({ key, line }) => !isDeepStrictEqual(kept.get(key), line))).toEqual([])
    expect(before.some(holdsSecret)).toBe(true)
    expect(linesBelow(copies).some(holdsSecret)).toBe(false)
    expect(
      linesBelow(events)
        .filter(({ key }) => key.startsWith('103/'))
        .some(holdsSecret),
    ).toBe(false)
  })

  test('several in a row, within a scan, lose and repeat nothing', async () => {
    const place = await workplace({ days: 1500, pageSize: 50, latencyMs: 20 }, { server })
    const { simulator, events } = place
    const child = place.start(['run'])
    for (let turn = 0; turn < 8; turn++) {
      const asked = simulator.requests.length
      await waitFor(() => simulator.requests.length > asked + 2, { what: 'requests', everyMs: 1 })
      place.configure({ poll: { everySeconds: 0.5 + turn / 10 } })
      for (let again = 0; again < 5; again++) {
        process.kill(child.pid, 'SIGHUP')
        // Enough for the process to take notice, so that the next one finds it in the midst of the change.
        await sleep(3)
      }
    }
    await caughtUp(place, child)
    await stopped(child)
    const whole = zones.length * 3 * 1500
    expect(compareFiles(events, simulator, zones, readableDays())).toEqual(exactly(whole))
    // Each that was taken over ended before the next one began: nothing runs beside what is in force.
    const troubles = logged(child.stderr()).filter(({ level }) => level === 'warn' || level === 'error')
    expect(troubles).toEqual([])
    expect(logged(child.stderr()).filter(({ event }) => event === 'Stopped')).toHaveLength(1)
  })

  test('refuses an invalid configuration with all its errors, and continues with the old one', async () => {
    const place = await workplace({ days: 20 }, { server })
    const { simulator, events } = place
    const child = place.start(['run'])
    await caughtUp(place, child)
    place.configure({ poll: { everySeconds: -1 }, sinks: [{ type: 'file' }], zonez: [1] })
    process.kill(child.pid, 'SIGHUP')
    const [refused] = await child.waitForLine(/.*"event":"ConfigRefused".*/)
    for (const fault of ['poll.everySeconds', 'sinks', 'zonez']) expect(refused).toContain(fault)
    simulator.append(101, readableDays()[2], 5)
    await caughtUp(place, child)
    // Mended, it is taken.
    place.configure({ poll: { everySeconds: 0.4 } })
    process.kill(child.pid, 'SIGHUP')
    await child.waitForLine(/"event":"ConfigReloaded"/)
    simulator.append(102, readableDays()[2], 5)
    await caughtUp(place, child)
    await stopped(child)
    const whole = zones.length * 3 * 20 + 10
    expect(compareFiles(events, simulator, zones, readableDays())).toEqual(exactly(whole))
  })
})
