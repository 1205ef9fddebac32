import { appendFileSync, copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { told } from '../commands/backfilling.ts'
import { clockArguments } from '../entry/shifted-clock.ts'
import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { compareFiles, exactly, keysOf, linesBelow, partsBelow } from './shipped.ts'
import { endOf, logged, readableDays, workplace, type Workplace } from './workplace.ts'

const zone = 101

/** What a disk does now and then, each with how a part or its handle answers. */
const failures = [
  { fail: 'amid:write:4', code: 'EIO' },
  { fail: 'before:datasync:3', code: 'EIO' },
  { fail: 'amid:write:3', code: 'EROFS' },
  { fail: 'before:rotation:2', code: 'EROFS' },
  { fail: 'before:rotation:3', code: 'EMFILE' },
  { fail: 'amid:write:5', code: 'EDQUOT' },
]

test('a disk that fails repeatedly: each event once, and every failure is logged', async () => {
  const place = await workplace({ zones: [zone], days: 60, pageSize: 10 }, { zones: [zone] })
  const { simulator, events } = place
  const rotate = { maxBytes: 8_000 }
  place.configure({ sinks: [{ name: 'archive', type: 'file', path: events, rotate }] })
  const days = readableDays()
  for (const { fail, code } of failures) {
    for (const day of days) simulator.append(zone, day, 15)
    const what = `${code} ${fail}`
    // Waits between tries are short on this clock.
    const child = place.entry(['--once', '--fail', fail, '--code', code, ...clockArguments({ rate: 60 })])
    const { stderr } = await endOf(child)
    expect(stderr, what).toContain(code)
    expect(stderr, what).not.toMatch(/^\s+at /m)
    expect(compareFiles(events, simulator, [zone], days), what).toMatchObject({ repeated: 0, strange: 0 })
  }
  expect((await place.once()).code).toBe(0)
  const whole = keysOf(simulator, [zone], days).length
  expect(compareFiles(events, simulator, [zone], days)).toEqual(exactly(whole))
})

interface Vandal {
  readonly what: string
  /** Does it to the folder of a day and its only part. */
  harm(folder: string, part: string): void
  /** How many of the lines that stood there still do, of 40. */
  readonly left: number
}

const vandals: readonly Vandal[] = [
  { what: 'the folder of a day is removed', harm: (folder) => rmSync(folder, { recursive: true }), left: 0 },
  { what: 'a part is removed', harm: (_, part) => rmSync(part), left: 0 },
  {
    what: 'a part is replaced by a copy of itself',
    harm(_, part) {
      copyFileSync(part, `${part}.copy`)
      renameSync(`${part}.copy`, part)
    },
    left: 40,
  },
  {
    what: 'a part becomes another file of the same length',
    harm(_, part) {
      const { length } = readFileSync(part)
      rmSync(part)
      writeFileSync(part, `${JSON.stringify({ zone: { id: zone }, id: 'x'.repeat(length - 31) })}\n`)
    },
    left: 0,
  },
  { what: 'somebody else writes into a part', harm: (_, part) => appendFileSync(part, '{"torn'), left: 40 },
]

const today = readableDays()[2]
const folderOf = ({ events }: Workplace) => join(events, `zone=${zone}`, `day=${today}`)

async function untilAll(place: Workplace, child: TestProcess, ids: readonly string[]): Promise<void> {
  const found = () => idsBelow(place).filter((id) => ids.includes(id))
  await waitFor(() => found().length >= ids.length, {
    what: () => `${ids.length} new lines, with ${found().length}: ${child.stderr().slice(-2000)}`,
  })
}

function idsBelow({ events }: Workplace): string[] {
  return linesBelow(events).map(({ line }) => line.id)
}

describe.concurrent('under a running process', () => {
  test.for(vandals)('$what: new events are written, each once', async ({ harm, left }, { expect }) => {
    const place = await workplace(
      { zones: [zone], days: { [today]: 40 } },
      { zones: [zone], server: { port: 0 } },
    )
    const { simulator } = place
    const child = place.start(['run'])
    await caughtUp(place, child, { of: [zone], days: [today] })
    const [part] = partsBelow(place.events)
    harm(folderOf(place), join(place.events, part!))
    const first = simulator.append(zone, today, 12).map(({ logId }) => logId)
    await untilAll(place, child, first)
    const second = simulator.append(zone, today, 12).map(({ logId }) => logId)
    await untilAll(place, child, second)
    expect(await child.kill('SIGTERM'), child.stderr()).toEqual({ code: 0, signal: null })
    const once = await place.once()
    expect(once.code, once.stderr).toBe(0)
    const ids = idsBelow(place)
    for (const id of [...first, ...second]) expect(ids.filter((each) => each === id)).toHaveLength(1)
    const old = simulator.entries(zone, today).slice(0, 40)
    expect(ids.filter((id) => old.some(({ logId }) => logId === id))).toHaveLength(left)
    // What is gone is not made good by itself, and not hidden either.
    const audit = await told(place, 'audit', '--zone', String(zone), '--day', today)
    if (left === 0)
      expect(logged(child.stderr() + once.stderr).map(({ event }) => event)).toContain('FileShort')
    expect(audit.code, audit.stdout).toBe(left === 0 ? 1 : 0)
  })
})
