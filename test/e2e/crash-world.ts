import { expect } from 'vitest'
import { told } from '../tasks/backfill/backfilling.ts'
import { connected } from '../redis/connected.ts'
import { endOf as endOfDay, startOf, type Day } from '../../src/domain/day.ts'
import type { DeadLetter } from '../../src/domain/event/delivery.ts'
import type { TestProcess } from '../setup/processes.ts'
import { startRedis, type TestRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { honest, honestyOf, keyOfLine, receiver } from './receiver.ts'
import { compare, compareFiles, keysOf, linesBelow } from './shipped.ts'
import { endOf, readableDays, workplace, type Ended, type Settings } from './workplace.ts'

export const zone = 101
/** New events of each day and round. */
const perDay = 5

export type CrashWorld = Awaited<ReturnType<typeof crashWorld>>

/** One shipper into a file, an HTTP and a stdout sink, that is ended again and again, beside an API that goes on. */
export async function crashWorld(state: Settings = {}, redis?: TestRedis) {
  const siem = await receiver()
  const place = await workplace(
    { zones: [zone], days: 5, pageSize: 20 },
    { zones: [zone], poll: { everySeconds: 0.5, firstRunDays: 2 }, ...state },
  )
  place.configure({
    sinks: [
      // A further part with nearly every delivery.
      { name: 'archive', type: 'file', path: place.events, rotate: { maxBytes: 2_000 } },
      {
        name: 'siem',
        type: 'http',
        url: siem.url,
        // Several bodies for a page, so that a delivery can be half done.
        batch: { maxEvents: 2 },
        compression: 'gzip',
      },
      { name: 'out', type: 'stdout' },
    ],
  })
  const poison = new Set<string>()
  siem.answer(({ text }) => ({ status: [...poison].some((id) => text.includes(id)) ? 400 : 200 }))
  const days: Day[] = readableDays().slice(1)
  const children: TestProcess[] = []
  const { simulator } = place

  /** Everything that the API has stands once in the files, was taken over HTTP or is poison, and went to stdout. */
  const expectWhole = (after: string) => {
    const expected = keysOf(simulator, [zone], days)
    const files = compareFiles(place.events, simulator, [zone], days)
    const isPoison = (key: string) => poison.has(key.split('/')[2]!)
    const good = expected.filter((key) => !isPoison(key))
    const http = compare(siem.taken.map(keyOfLine), good)
    const out = compare(children.flatMap(({ stdout }) => linesOf(stdout())).map(keyOfLine), expected)
    const some = { missing: 0, strange: 0 }
    expect({ files, http, out }, after).toMatchObject({
      files: { ...some, repeated: 0, lines: expected.length },
      http: some,
      out: some,
    })
    expect(honestyOf(siem.got), after).toEqual(honest)
  }

  return {
    place,
    siem,
    /** Those that are compared; the test may add to them. */
    days,
    start(args: readonly string[]): TestProcess {
      const child = place.entry(args)
      children.push(child)
      return child
    },
    /** Runs a command to its end, of which events on stdout count too. */
    ended(args: readonly string[]): Promise<Ended> {
      const child = place.start(args)
      children.push(child)
      return endOf(child)
    },
    /** New events of these days, or of all; one of today is one that the HTTP sink never takes. */
    append(of: readonly Day[] = days): void {
      for (const day of of) {
        const times = (index: number) => Math.min(startOf(day) + 60_000 * index, endOfDay(day) - 1)
        const added = simulator.append(zone, day, perDay, { timestampMs: times })
        if (day === days[1]) poison.add(added[3]!.logId)
      }
    },
    /** What the dead were heard of is forgotten, as 20 seconds later. Nothing to do where a lock dies with its holder. */
    async bury(): Promise<void> {
      if (redis !== undefined) await forgetHolders(redis)
    },
    /** How many lines stand more than once in the files. */
    repeated(): number {
      const shipped = linesBelow(place.events, 'under way').map(({ key }) => key)
      return compare(shipped, shipped).repeated
    },
    expectWhole,
    /** The same, and the dead letters are the poison and nothing else. To be asked when nothing runs any more. */
    async expectEnd(): Promise<void> {
      expectWhole('everything')
      const listed = await told(place, 'dead-letters', 'list', '--json')
      const { deadLetters } = JSON.parse(listed.stdout) as { readonly deadLetters: readonly DeadLetter[] }
      expect(deadLetters.map(({ id }) => id).sort()).toEqual([...poison].sort())
      // Else no end came between a delivery and its commit, and nothing was tried here.
      expect(siem.taken.length).toBeGreaterThan(new Set(siem.taken).size)
      for (const day of days) expectClean(await told(place, 'audit', '--zone', String(zone), '--day', day))
    },
  }
}

/** The dead count as alive for 20 s. */
export async function forgetHolders({ url, keyPrefix }: TestRedis): Promise<void> {
  await connected(url).del(`{${keyPrefix}}:holders`)
}

function expectClean({ code, stdout, stderr }: Ended): void {
  expect(code, stdout + stderr).toBe(0)
}

/** Whole lines: the last one of a killed process may be torn. */
function linesOf(stdout: string): string[] {
  return stdout.split('\n').slice(0, -1)
}

/** A server as the docs ask for it. */
export function durableRedis() {
  return startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'everysec'] })
}

export async function redisWorld(): Promise<CrashWorld> {
  const redis = await durableRedis()
  const { url, keyPrefix } = redis
  return crashWorld({ state: { redis: { url, keyPrefix } } }, redis)
}

/** `npm run test:long` ends processes at every step. */
export const isLong = process.env['SHIELDLOG_TEST_CRASH'] === 'all'

/** Steps at which a stream has nothing that a kill could tear or repeat: each leaves what the next one does. */
const untouched = [
  'after:normalise:1',
  'before:fetch:1',
  'after:fetch:2',
  'before:normalise:3',
  'before:deliver@archive:1',
  'before:deliver@siem:1',
  'before:deliver@out:1',
]

/** The steps of a page's way, with the sink where it matters. */
export const killed = [
  ...untouched.slice(0, isLong ? Infinity : 1),
  'before:rotation:1',
  'after:rotation:2',
  'amid:write:1',
  'after:write:2',
  'before:datasync:2',
  'after:datasync:1',
  'after:deliver@archive:2',
  'before:post:2',
  'amid:post:3',
  'after:post:2',
  'after:deliver@siem:1',
  'after:deliver@out:2',
  'before:commit@archive:1',
  'amid:commit@archive:2',
  'after:commit@archive:1',
  'before:commit@siem:2',
  'after:commit@siem:1',
  'amid:commit@out:1',
]

/** A bound against a hang: one test starts dozens of processes. */
export const timeout = isLong ? 3_600_000 : 600_000

export const stopped = isLong
  ? killed
  : ['before:fetch:2', 'amid:write:1', 'amid:post:1', 'after:deliver@siem:1', 'before:commit:2']

const ends = { kill: { code: null, signal: 'SIGKILL' }, stop: { code: 0, signal: null } } as const

/**
 * Ends one process after the other at these moments. Each first ships everything that the one before it left, which is
 * then held against the API; then there are new events, and on the way with them it ends.
 */
export async function endAt(
  world: CrashWorld,
  how: 'kill' | 'stop',
  moments: readonly string[],
): Promise<void> {
  let before = 'the start'
  for (const moment of moments) {
    const child = world.start(['--rounds', `--${how}`, moment])
    await nextRound(world, child, before)
    const end = await child.exited
    expect(end, `${how} ${moment}: ${child.stderr().slice(-2000)}`).toEqual(ends[how])
    await world.bury()
    before = `${how} ${moment}`
  }
  await drained(world, before)
}

/** Has a process come to the end of its round, and begin the next one with new events. */
export async function nextRound(world: CrashWorld, child: TestProcess, before: string): Promise<void> {
  await child.waitForLine(/^drained$/)
  world.expectWhole(before)
  world.append()
  process.kill(child.pid, 'SIGUSR2')
}

/** A last process that nothing ends. */
export async function drained(world: CrashWorld, before: string): Promise<void> {
  const last = world.start(['--once'])
  const end = await last.exited
  expect(end, `after ${before}: ${last.stderr().slice(-2000)}`).toEqual({ code: 0, signal: null })
  world.expectWhole(before)
}

/**
 * Lets a process go on that has said `frozen`. It says so just before it stops: a SIGCONT that comes in between is lost,
 * so the signal is sent until the process says that it goes on.
 */
export async function thaw(child: TestProcess): Promise<void> {
  await waitFor(
    async () => {
      await child.kill('SIGCONT')
      return !child.isRunning() || /^thawed$/m.test(child.stderr())
    },
    { what: 'the end of a freeze' },
  )
}
