import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { clockArguments, createShiftedClock, todayAt } from '../entry/shifted-clock.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import * as faults from '../simulator/faults.ts'
import { caughtUp } from './caught-up.ts'
import { probeOf } from './metrics.ts'
import { receiver } from './receiver.ts'
import { expectEachOnce, linesBelow, type Line } from './shipped.ts'
import { logged, readableDays, workplace, zones } from './workplace.ts'

/** Daemons of other tests run beside these. */
const server = { port: 0 }

/** Ends a daemon as an operator would. What hangs hangs for longer than a test may last. */
async function stopped(child: TestProcess): Promise<void> {
  const ended = await child.kill('SIGTERM')
  expect(ended, child.stderr()).toEqual({ code: 0, signal: null })
}

test.for(['the sink', 'the API'])('SIGTERM ends it while %s hangs, two signals at once', async (what) => {
  const siem = await receiver()
  siem.answer(() => 'hang')
  const place = await workplace({ days: 50 }, { server })
  place.configure({ sinks: [{ name: 'siem', type: 'http', url: siem.url, timeoutSeconds: 600 }] })
  if (what === 'the API') place.simulator.fail({ times: Infinity, fault: faults.hang() })
  const asked = what === 'the API' ? place.simulator.requests : siem.got
  const hanging = async () => {
    const before = asked.length
    const child = place.start(['run'])
    await waitFor(() => asked.length > before, { what: () => `a request: ${child.stderr()}` })
    return child
  }
  await stopped(await hanging())
  // Held still while both are sent. On a busy machine two threads of the process may take them, and the first signal has
  // ended it before the second comes: it is tried again then.
  let code: number | null = 0
  for (let tries = 0; code === 0 && tries < 5; tries++) {
    const child = await hanging()
    await child.kill('SIGSTOP')
    process.kill(child.pid, 'SIGINT')
    process.kill(child.pid, 'SIGTERM')
    await child.kill('SIGCONT')
    code = (await child.exited).code
  }
  expect([128 + 2, 128 + 15]).toContain(code)
})

test('SIGHUP: errors are refused; zones, sinks and redaction change, again and again within a scan, without losing or repeating a line', async () => {
  const all = [101, 102, 103]
  const place = await workplace({ zones: all, days: 600, pageSize: 50, latencyMs: 20 }, { server })
  const { simulator, events, folder } = place
  place.configure({ redact: 'off' })
  const child = place.start(['run'])
  const hangUp = () => void process.kill(child.pid, 'SIGHUP')
  await caughtUp(place, child)
  const before = linesBelow(events)
  place.configure({ poll: { everySeconds: -1 }, sinks: [{ type: 'file' }], zonez: [1] })
  hangUp()
  const [refused] = await child.waitForLine(/.*"event":"ConfigRefused".*/)
  for (const error of ['poll.everySeconds', 'sinks', 'zonez']) expect(refused).toContain(error)

  const copies = join(folder, 'copies')
  const redact = { headers: ['cookie', 'authorization', 'user-agent'] }
  const sinks = [
    { name: 'archive', type: 'file', path: events },
    { name: 'second', type: 'file', path: copies },
  ]
  const changed = { zones: all, redact, sinks }
  place.configure(changed)
  hangUp()
  await child.waitForLine(/"event":"ConfigReloaded"/)
  for (let turn = 0; turn < 8; turn++) {
    const asked = simulator.requests.length
    await waitFor(() => simulator.requests.length > asked + 2, { what: 'requests', everyMs: 1 })
    place.configure({ ...changed, poll: { everySeconds: 0.5 + turn / 10 } })
    for (let again = 0; again < 5; again++) {
      hangUp()
      // Enough for the process to take notice, so that the next one finds it in the midst of the change.
      await sleep(3)
    }
  }
  for (const zone of all) simulator.append(zone, readableDays()[2], 5)
  await caughtUp(place, child, { of: all })
  await caughtUp(place, child, { of: all, sink: 'second', path: copies })
  await stopped(child)
  const days = readableDays()
  for (const path of [events, copies]) expectEachOnce(path, simulator, all, days)
  // What was shipped before stays as it was; what came later is redacted.
  const hasSecret = ({ line }: { readonly line: Line }) => JSON.stringify(line).includes('Bearer eyJ')
  const kept = new Map(linesBelow(events).map(({ key, line }) => [key, line]))
  expect(before.filter(({ key, line }) => !isDeepStrictEqual(kept.get(key), line))).toEqual([])
  expect(before.some(hasSecret)).toBe(true)
  const later = [...linesBelow(copies), ...linesBelow(events).filter(({ key }) => key.startsWith('103/'))]
  expect(later.some(hasSecret)).toBe(false)
  // Each that was taken over ended before the next one began: nothing runs beside what is in force.
  const log = logged(child.stderr())
  const troubles = log.filter(({ level }) => level === 'warn' || level === 'error')
  expect(troubles.map(({ event }) => event)).toEqual(['ConfigRefused'])
  expect(log.filter(({ event }) => event === 'Stopped')).toHaveLength(1)
})

/** Sends a SIGHUP to its own process just before each of the program's files is loaded, but for the first, the program. */
const hangUpAtEachLoad = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module'
    let loads = 0
    registerHooks({
      load(url, context, next) {
        if (url.startsWith('file:') && ++loads > 1) process.kill(process.pid, 'SIGHUP')
        return next(url, context)
      },
    })`)}`,
}

test('a SIGHUP at any moment of the start ends no process, and is followed once it ships', async () => {
  const place = await workplace({ days: 20 }, { server })
  // From the first file on: before that Node has not run any code of the program.
  const child = place.start(['run'], { env: hangUpAtEachLoad })
  await child.waitForLine(/"event":"ConfigReloaded"/)
  for (let turn = 0; turn < 20; turn++) process.kill(child.pid, 'SIGHUP')
  await caughtUp(place, child)
  await stopped(child)
  expectEachOnce(place.events, place.simulator, zones, readableDays())
})

test('a process is not ready while its lag exceeds server.readyLagSeconds, and healthy all the time', async () => {
  const fast = todayAt(12, 10)
  const clock = createShiftedClock(fast)
  const place = await workplace({ days: 20, clock }, { server: { port: 0, readyLagSeconds: 20 } })
  const child = place.entry(clockArguments(fast))
  const probe = await probeOf(child)
  const isReady = async () => (await probe.get('/readyz')).status === 200
  await waitFor(isReady, { what: 'readiness' })
  place.simulator.fail({ times: Infinity, fault: faults.status({ status: 503 }) })
  await waitFor(async () => /has a lag of/.test((await probe.get('/readyz')).text), { what: 'lag' })
  expect([(await probe.get('/readyz')).status, (await probe.get('/healthz')).status]).toEqual([503, 200])
  place.simulator.heal()
  await waitFor(isReady, { what: 'readiness again' })
  await stopped(child)
})
