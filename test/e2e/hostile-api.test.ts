import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dayOf, shiftDay, startOf, type Day } from '../../src/domain/day.ts'
import type { Status } from '../../src/status/fleet.ts'
import type { Fault, FaultRule } from '../../src/simulator/faults.ts'
import type { Simulator, WireEntry } from '../../src/simulator/simulator.ts'
import { clockArguments, createShiftedClock, todayAt } from '../entry/shifted-clock.ts'
import { createRandom, type Random } from '../pump/model/random.ts'
import type { TestProcess } from '../setup/processes.ts'
import { inStore } from '../setup/stores.ts'
import { seed } from '../setup/seed.ts'
import { waitFor } from '../setup/wait-for.ts'
import * as faults from '../simulator/faults.ts'
import { compare, keysOf, linesBelow } from './shipped.ts'
import { accessKey, endOf, logged, readableDays, workplace, type Workplace } from './workplace.ts'

const zones = [101, 102, 103]
/** Rounds of trouble; `npm run test:long` asks for more. */
const rounds = Number(process.env['SHIELDLOG_TEST_HOSTILE_ROUNDS'] ?? 12)
const roundRequests = 200
const roundMs = 1_500
/** The way of this clock: a minute a second. */
const rate = 60

const hourMs = 3_600_000

/** Waits that mean something, and those that mean nothing or too much. */
const waits = [
  0,
  1,
  2,
  -5,
  0.5,
  'soon',
  '',
  '-1',
  '1e3',
  'Thu, 01 Jan 1970 00:00:00 GMT',
  '2, 3',
  '１２',
] as const

/** Bodies that are no page, and pages that are hardly one. */
const bodies = [
  '',
  '<html><h1>502 Bad Gateway</h1></html>',
  '{"logs":[',
  '[]',
  'null',
  '"logs"',
  '{}',
  '{"logs":null,"hasMoreData":true}',
  '{"logs":[],"hasMoreData":false,"errorResponse":{"success":false,"message":"later","errorKey":""}}',
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  '{"__proto__":{"logs":[]},"logs":{}}',
]

const noError = { success: false, message: null, errorKey: null }
const fields: readonly Readonly<Record<string, unknown>>[] = [
  { hasMoreData: 1 },
  { logs: 'x' },
  { continuationToken: { a: 1 } },
  { logs: null },
  { errorResponse: undefined },
  { errorResponse: noError },
]

/** Every way of failing after which each entry can still be read as it is. */
const kinds: readonly ((random: Random) => Fault)[] = [
  (random) => faults.throttle({ status: random.pick([429, 503]) }),
  (random) => faults.throttle({ status: random.pick([429, 503]), retryAfter: random.pick(waits) }),
  (random) => faults.throttle({ retryAfter: { inMs: random.between(-90_000, 20_000) } }),
  (random) => faults.status({ status: random.pick([400, 403, 404, 409, 418, 422, 451, 500, 503, 504, 599]) }),
  (random) => faults.status({ status: random.pick([200, 201, 202, 500, 503]), body: random.pick(bodies) }),
  (random) => faults.problemDetails({ status: random.pick([400, 401, 403, 404, 500]) }),
  (random) =>
    faults.errorKey({
      status: random.pick([200, 202, 400, 401, 500]),
      errorKey: random.pick([
        'internal',
        'invalid_datetime_window.event_logs',
        'rate_limited',
        '__proto__',
        '😀',
      ]),
    }),
  () => faults.acceptedResult(),
  (random) =>
    faults.redirect({
      status: random.pick([301, 302, 307, 308]),
      location: random.pick(['/', 'https://login.example.com/', 'file:///etc/passwd', '']),
    }),
  (random) => faults.reset({ when: random.pick(['before', 'mid']) }),
  (random) => faults.cut({ missingBytes: random.pick([1, 10, 100_000]) }),
  (random) => faults.hang({ when: random.pick(['before', 'mid']) }),
  (random) => faults.drip({ everyMs: 200, chunkBytes: random.pick([512, 4096]) }),
  (random) => faults.delay({ ms: random.pick([100, 5_000, 60_000]) }),
  (random) => faults.oversized({ bytes: 30_000_000, declared: random.chance(0.5) }),
  (random) => faults.encode({ bytes: 200_000_000, encoding: random.pick(['gzip', 'br', 'zstd', 'deflate']) }),
  (random) =>
    faults.encode({
      encoding: random.pick(['gzip', 'br', 'zstd', 'deflate']),
      label: random.pick(['gzip', 'br', 'identity', 'x-none']),
    }),
  (random) => faults.date({ offsetMs: random.pick([null, -6 * hourMs, 6 * hourMs, -40_000, 90_000]) }),
  (random) => faults.notJson({ body: random.pick(bodies) }),
  () => faults.duplicateKeys(),
  () => faults.wrongTypes(),
  (random) => faults.wrongTypes({ fields: random.pick(fields) }),
  () => faults.emptyPageWithMore(),
  () => faults.repeatToken(),
  (random) => faults.cycleTokens({ length: random.between(1, 5) }),
  () => faults.moreWithoutToken(),
  (random) => faults.endlessTokens({ pages: random.between(1, 5) }),
  (random) => faults.cached({ seconds: random.between(2, 600) }),
  (random) => faults.repeatedEntries({ count: random.between(1, 20) }),
  () => faults.expiredToken(),
]

/** A fault that meets some requests, of one zone or of all, until it is healed. */
function anyFault(random: Random, of: readonly number[]): FaultRule {
  const fault = random.pick(kinds)(random)
  const match = random.chance(0.5)
    ? {}
    : { zone: random.pick(of), ...(random.chance(0.3) && { firstPage: random.chance(0.5) }) }
  return { match: { operation: 'eventLogs', ...match }, every: random.between(1, 4), times: Infinity, fault }
}

/** Entries that stand in the listing for good and that nobody would call entries. None of them is like another. */
function strange(random: Random, atMs: number): readonly unknown[] {
  const mark = random.next()
  return [
    { timestamp: atMs, log: `no id ${mark}` },
    { logId: '', timestamp: atMs, log: `an empty id ${mark}` },
    { logId: null, timestamp: atMs, log: { Url: `a null id ${mark}` } },
    { logId: Math.floor(mark * 1e9), timestamp: `yesterday ${mark}`, labels: ['Blocked'] },
    [mark],
    `no entry at all ${mark}`,
    mark,
  ]
}

/** What goes on beside the faults: a listing that shifts, tokens that end, clocks that jump, events that come late. */
const doings: readonly ((simulator: Simulator, random: Random, days: readonly Day[]) => unknown)[] = [
  (simulator) => simulator.expireTokens(),
  (simulator, random) => simulator.set({ order: random.pick(['oldest-first', 'newest-first', 'unordered']) }),
  (simulator, random) => simulator.set({ tokens: random.pick(['position', 'snapshot', 'anchor']) }),
  (simulator, random) => simulator.set({ lastToken: random.pick(['empty', 'null', 'repeated', 'real']) }),
  (simulator, random) => simulator.set({ pageSize: random.between(3, 60) }),
  (simulator, random, days) => {
    const day = random.pick(days)
    const timestampMs = () => startOf(day) + random.between(0, 86_399_999)
    simulator.append(random.pick(zones), day, random.between(1, 25), { timestampMs })
  },
  (simulator, random, days) => {
    const day = random.pick(days)
    const entries = strange(random, startOf(day) + random.between(0, 86_399_999))
    simulator.append(random.pick(zones), day, entries as readonly WireEntry[], {
      timestampMs: startOf(day) + 1,
    })
  },
]

function peakMegabytes({ pid }: TestProcess): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1000
}

/** Those with an id of their own; the others stand under the hash of all that they are. */
const isNamed = (key: string) => /\/[0-9a-f-]{36}$/.test(key)

function compareNamed({ events, simulator }: Workplace, days: readonly Day[]) {
  const shipped = linesBelow(events).filter(({ key }) => days.some((day) => key.includes(`/${day}/`)))
  const expected = keysOf(simulator, zones, days)
  const found = compare(shipped.map(({ key }) => key).filter(isNamed), expected.filter(isNamed))
  const strangers = shipped.filter(({ key }) => !isNamed(key)).length
  return { ...found, strangers, allStrangers: expected.filter((key) => !isNamed(key)).length }
}

/** Of all routes: they have one account, so they are stored at once. */
const firstPlannedDay = (place: Workplace): Promise<Day> =>
  inStore(place, async ({ catalogue }) => (await catalogue.routes())[0]!.firstDay)

describe('a hostile API', () => {
  test(
    `every fault at random, seed ${seed}: nothing lost, nothing twice`,
    { timeout: 300_000 + 20_000 * rounds },
    async () => {
      const random = createRandom(seed)
      // A quarter of an hour before midnight: the window of days moves on the way.
      const fast = todayAt(23.75, rate)
      const args = clockArguments(fast)
      const clock = createShiftedClock(fast)
      const nowMs = () => clock.now()
      const place = await workplace(
        { zones, days: 60, pageSize: 20, clock, live: { ratePerSecond: 0.05 } },
        { zones, poll: { everySeconds: 1 } },
        // About a second of this host.
        { requestTimeoutSeconds: rate, maxPageBytes: 1_000_000 },
      )
      const { simulator } = place
      const before = readableDays()
      const tomorrow = shiftDay(before[2], 1)
      const days = () => (dayOf(nowMs()) === tomorrow ? [before[1], before[2], tomorrow] : before)
      let child = place.entry(args)
      await child.waitForLine(/"event":"Started"/)
      let [met, peak] = [0, 0]
      for (let round = 0; round < rounds; round++) {
        const rules = Array.from({ length: random.between(1, 3) }, () => anyFault(random, zones))
        const what = `seed ${seed}, round ${round}: ${JSON.stringify(rules)}`
        for (const rule of rules) simulator.fail(rule)
        // What comes after the last scan of a day is not shipped, and the oldest day has had its last scan.
        random.pick(doings)(simulator, random, days().slice(1))
        const from = simulator.requests.length
        const [fromMs, beganMs] = [nowMs(), performance.now()]
        await waitFor(
          () => simulator.requests.length - from >= roundRequests || performance.now() - beganMs > roundMs,
          { what },
        )
        expect(child.isRunning(), `${what}\n${child.stderr().slice(-2000)}`).toBe(true)
        const asked = simulator.requests.slice(from)
        met += asked.filter(({ fault }) => fault !== undefined).length
        // A poll of 9 streams every second reads some pages each time; whoever spins asks for thousands.
        const minutes = (nowMs() - fromMs) / 60_000
        expect(asked.length, what).toBeLessThan(roundRequests + 2_000 * Math.max(0.5, minutes))
        simulator.heal()
        if (random.chance(0.15)) {
          peak = Math.max(peak, peakMegabytes(child))
          await child.kill('SIGKILL')
          child = place.entry(args)
          await child.waitForLine(/"event":"Started"/)
        }
      }
      peak = Math.max(peak, peakMegabytes(child))
      simulator.calm()
      await waitFor(() => dayOf(nowMs()) === tomorrow, { what: 'midnight' })
      expect(await child.kill('SIGTERM'), child.stderr().slice(-3000)).toEqual({ code: 0, signal: null })
      const last = await endOf(place.entry(['--once', ...args]))
      expect(last.code, last.stderr).toBe(0)
      expect(met).toBeGreaterThan(rounds * 2)
      expect(peak).toBeLessThan(320)
      const inTime = compareNamed(place, [before[1], before[2], tomorrow])
      const { missing, repeated, strange: unknown, strangers, allStrangers } = inTime
      const found = { missing, repeated, unknown, strangers }
      const whole = { missing: 0, repeated: 0, unknown: 0, strangers: allStrangers }
      expect(found, `seed ${seed}: ${JSON.stringify(inTime)}`).toEqual(whole)
      expect(compareNamed(place, [before[0]])).toMatchObject({ repeated: 0, strange: 0 })
      // What the oldest day has lost is a gap, also where the process that found it was killed since; not where no answer
      // told the time for sure before midnight, so that the first planned day is a later one.
      const gone = compareNamed(place, [before[0]]).missing
      const { routes } = JSON.parse((await place.ended(['status', '--json'])).stdout) as Status
      if (gone > 0 && (await firstPlannedDay(place)) <= before[0])
        expect(routes.flatMap(({ gaps }) => gaps.map(({ day }) => day))).toContain(before[0])
    },
  )

  test('that refuses the key is reported in one line without the key, and read with the right one', async () => {
    const place = await workplace({ zones, days: 20 }, { zones }, { accessKey: 'a-wrong-key' })
    const { code, stderr } = await place.once()
    expect(code, stderr).toBe(1)
    const errors = logged(stderr).filter(({ level }) => level === 'error')
    const [results, told] = [true, false].map((is) =>
      errors.filter(({ event }) => (event === 'Progress') === is),
    )
    expect(
      results?.map(({ msg }) => msg),
      stderr,
    ).toEqual([expect.stringMatching(/the access key .*api\.accessKey/)])
    // However many streams it stops, the log tells it once too, and then names the zones.
    expect(told?.map(({ zoneIds }) => zoneIds)).toEqual([undefined, zones])
    expect(stderr).not.toMatch(/^\s+at |a-wrong-key/m)
    place.configure({ api: { baseUrl: place.simulator.url, accessKey } })
    expect((await place.once()).code).toBe(0)
    expect(linesBelow(place.events)).toHaveLength(zones.length * 3 * 20)
  })
})
