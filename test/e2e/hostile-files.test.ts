import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { told } from '../tasks/backfill/backfilling.ts'
import { clockArguments } from '../entry/shifted-clock.ts'
import { startProcess } from '../setup/processes.ts'
import { programFile } from '../setup/program/program-file.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { compareFiles, expectEachOnce, linesBelow, partsBelow } from './shipped.ts'
import { endOf, logged, readableDays, workplace } from './workplace.ts'

const zone = 101
const today = readableDays()[2]

/** What a disk does now and then, each with how a part or its handle answers. */
const failures = [
  { fail: 'amid:write:4', code: 'EIO' },
  { fail: 'before:datasync:3', code: 'EIO' },
  { fail: 'amid:write:3', code: 'EROFS' },
  { fail: 'before:rotation:2', code: 'EROFS' },
  { fail: 'amid:write:2', code: 'ENOSPC' },
  { fail: 'before:rotation:3', code: 'EMFILE' },
  { fail: 'amid:write:5', code: 'EDQUOT' },
]

test('a disk that fails repeatedly: each event once, and every failure is logged', async () => {
  const place = await workplace({ zones: [zone], days: 60, pageSize: 10 }, { zones: [zone] })
  const { simulator, events } = place
  const rotate = { maxBytes: 4_000 }
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
  expectEachOnce(events, simulator, [zone], days)
})

test('on a full disk, here a limit of the size of files: a file that cannot grow further stops the run, which continues when the limit is raised', async () => {
  const days = { [today]: 1500 }
  const place = await workplace({ days, pageSize: 100, zones: [zone], entryBytes: 20_000 })
  place.configure({ zones: [zone] })
  // The signal would end any program; ignored, the write fails instead. 12 or 24 MB, as the shell counts in blocks of
  // 512 or 1024 bytes: more than the store and the first load need.
  const script = `trap '' XFSZ; ulimit -f 24000; exec "$0" "$@"`
  const args = [process.execPath, programFile('cli'), 'run', '--once', '-c', place.configFile]
  const limited = await endOf(startProcess('/bin/sh', ['-c', script, ...args]))
  expect(limited.code, limited.stderr).toBe(1)
  expect(limited.stderr).toMatch(/not read to the end: .*file too large/)
  const before = compareFiles(place.events, place.simulator, [zone], [today])
  expect(before).toMatchObject({ repeated: 0, strange: 0 })
  expect(before.lines).toBeGreaterThan(0)
  const ended = await place.once()
  expect(ended.code, ended.stderr).toBe(0)
  expectEachOnce(place.events, place.simulator, [zone], [today])
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
  {
    what: 'a part becomes another file of the same length',
    harm(_, part) {
      const { length } = readFileSync(part)
      rmSync(part)
      const id = Number(/shield_zone=(\d+)/.exec(part)?.[1])
      writeFileSync(part, `${JSON.stringify({ zone: { id }, id: 'x'.repeat(length - 31) })}\n`)
    },
    left: 0,
  },
  { what: 'somebody else writes into a part', harm: (_, part) => appendFileSync(part, '{"torn'), left: 40 },
]

test('under a running process, each in a zone of its own: new events are written once, what is gone is not', async () => {
  const zones = vandals.map((_, index) => zone + index)
  const place = await workplace({ zones, days: { [today]: 40 } }, { zones })
  const { simulator, events } = place
  const child = place.start(['run'])
  await caughtUp(place, child, { of: zones, days: [today] })
  const parts = new Map(
    partsBelow(events).map((part) => [/shield_zone=(\d+)/.exec(part)?.[1], join(events, part)]),
  )
  for (const [index, { harm }] of vandals.entries()) {
    const part = parts.get(String(zones[index]))!
    harm(dirname(part), part)
  }
  const idsOf = (of: number) =>
    linesBelow(events).flatMap(({ key, line }) => (key.startsWith(`${of}/`) ? [line.id] : []))
  const added = new Map(zones.map((each) => [each, [] as string[]]))
  for (let round = 0; round < 2; round++) {
    for (const [of, ids] of added) ids.push(...simulator.append(of, today, 12).map(({ logId }) => logId))
    const areThere = ([of, ids]: readonly [number, readonly string[]]) =>
      ids.every((id) => idsOf(of).includes(id))
    await waitFor(() => [...added].every(areThere), { what: () => child.stderr().slice(-2000) })
  }
  expect(await child.kill('SIGTERM'), child.stderr()).toEqual({ code: 0, signal: null })
  const once = await place.once()
  expect(once.code, once.stderr).toBe(0)
  expect(logged(child.stderr() + once.stderr).map(({ event }) => event)).toContain('FileShort')
  for (const [index, { what, left }] of vandals.entries()) {
    const of = zones[index]!
    const ids = idsOf(of)
    for (const id of added.get(of)!)
      expect(
        ids.filter((each) => each === id),
        what,
      ).toHaveLength(1)
    const old = new Set(
      simulator
        .entries(of, today)
        .slice(0, 40)
        .map(({ logId }) => logId),
    )
    expect(
      ids.filter((id) => old.has(id)),
      what,
    ).toHaveLength(left)
    // What is gone is not made good by itself, and not hidden either.
    const audit = await told(place, 'audit', '--zone', String(of), '--day', today)
    expect(audit.code, `${what}: ${audit.stdout}`).toBe(left === 0 ? 1 : 0)
  }
})
