import { appendFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { dayOf, daysFrom, shiftDay, type Day } from '../../src/domain/day.ts'
import { inStore, told } from '../commands/backfilling.ts'
import { startNode } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { receiver } from './receiver.ts'
import { compare, compareFiles, exactly, keysOf, linesBelow, partsBelow } from './shipped.ts'
import { endOf, workplace, zones, type Ended, type Workplace } from './workplace.ts'

const today = dayOf(Date.now())
/** Days that were shipped while the API had them, and that it has no more. */
const days = daysFrom(shiftDay(today, -8), shiftDay(today, -7)) as [Day, Day]
const perDay = 300
const whole = zones.length * days.length * perDay

interface Archive {
  readonly place: Workplace
  readonly copy: string
  readonly sinks: readonly Readonly<Record<string, unknown>>[]
  ship(...more: readonly string[]): Promise<Ended>
}

/** A file sink with days of long ago, one of its parts compressed, beside a second one without any. */
async function archived(format = 'native', more: readonly Readonly<Record<string, unknown>>[] = []) {
  const counts = Object.fromEntries(days.map((day) => [day, perDay]))
  const place = await workplace({ days: counts, readableDays: 9, pageSize: 50 })
  const archive = { name: 'archive', type: 'file', path: place.events, format, rotate: { maxBytes: 60_000 } }
  place.configure({ sinks: [archive] })
  const first = await told(place, 'backfill', '--from', days[0], '--to', days[1])
  expect(first.code, first.stderr).toBe(0)
  const parts = partsBelow(place.events)
  expect(parts.length).toBeGreaterThan(6)
  compressPart(place, parts[0]!)
  place.simulator.set({ readableDays: 3 })
  const copy = join(place.folder, 'copy')
  const sinks = [
    archive,
    { name: 'copy', type: 'file', path: copy, format, rotate: { maxBytes: 40_000 } },
    ...more,
  ]
  place.configure({ sinks })
  return { place, copy, sinks, ship: (...given) => told(place, ...command, ...given) } satisfies Archive
}

const command = ['backfill', '--source', 'archive', '--from', days[0], '--to', days[1]]

function compressPart({ events }: Workplace, part: string): void {
  writeFileSync(join(events, `${part}.gz`), gzipSync(readFileSync(join(events, part))))
  rmSync(join(events, part))
}

function killed(place: Workplace, deadline: string, sink: string): Promise<Ended> {
  const entry = `${projectFolder}test/entry/command.ts`
  const args = ['--kill', deadline, '--', ...command, '--sink', sink, '-c', place.configFile]
  return endOf(startNode([entry, ...args], { cwd: place.folder }))
}

const count = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]?.replaceAll(',', ''))

describe('from the parts of a file sink', () => {
  test.for(['native', 'raw'])(
    'ships days that the API no longer keeps, the same lines: %s',
    async (format) => {
      const { place, copy, ship } = await archived(format)
      const lines = readLines(place.events)
      const asked = place.simulator.requests.length
      const ended = await ship('--sink', 'copy')
      expect(ended.code, ended.stderr).toBe(0)
      expect(readLines(copy)).toEqual(lines)
      expect(lines).toHaveLength(whole)
      expect(ended.stdout).toMatch(/^2 days, 1200 events shipped, 0 already there, 0 lines not readable, in /)
      expect(ended.stderr).toContain(`${days[0]}  zone 101 → copy: 300 events shipped, 0 already there\n`)

      const again = await ship('--sink', 'copy')
      expect(again.code, again.stderr).toBe(0)
      expect(again.stdout).toMatch(/^2 days, 0 events shipped, 1200 already there, /)
      // What a running process forgets of such days is counted still, and is not shipped again.
      await inStore(place, async (store) => {
        for (const { stream, fromArchive, ended } of await store.list()) {
          if (stream.sink !== 'copy') continue
          expect(fromArchive).toBeUndefined()
          expect(ended?.as).toBe('closed')
          await store.forgetFingerprints(stream)
        }
      })
      const forgotten = await ship('--sink', 'copy')
      expect(forgotten.code, forgotten.stderr).toBe(0)
      expect(forgotten.stdout).toMatch(/^2 days, 0 events shipped, 1200 already there, /)
      const [, plain] = partsBelow(place.events).map((part) => join(place.events, part))
      const [line] = readFileSync(plain!, 'utf8').split('\n')
      const { id, logId } = JSON.parse(line!) as { id?: string; logId?: string }
      appendFileSync(plain!, `${line!.replace(id ?? logId!, 'another-one')}\n`)
      const differs = await ship('--sink', 'copy')
      expect(differs.code).toBe(1)
      expect(differs.stderr).toContain('left out: it was shipped, but which events were is no longer known')
      expect(readLines(copy)).toEqual(lines)
      expect(place.simulator.requests).toHaveLength(asked)
    },
  )

  // Each zone and day takes: fence, beginning, release, fence, page, release, fence, end, release.
  test.for([
    'after:transaction:3',
    'before:datasync:1',
    'after:datasync:1',
    'after:datasync:3',
    'before:transaction:12',
    'after:transaction:18',
    'after:transaction:30',
  ])('killed %s, and run again: each event once', async (deadline) => {
    const { place, copy, ship } = await archived()
    const lines = readLines(place.events)
    const ended = await killed(place, deadline, 'copy')
    expect(ended.signal, ended.stderr).toBe('SIGKILL')
    forgetHolders(place)
    const after = await ship('--sink', 'copy')
    expect(after.code, after.stderr).toBe(0)
    expect(readLines(copy)).toEqual(lines)
    const audit = await told(place, 'audit', '--zone', '101', '--day', days[0], '--sink', 'copy', '--deep')
    expect(audit.code, audit.stdout).toBe(0)
  })

  test('over HTTP, killed amid a page: no page twice but that one', async () => {
    const far = await receiver()
    const http = { name: 'siem', type: 'http', url: far.url, batch: { maxEvents: 100 } }
    const { place, ship } = await archived('native', [http])
    const expected = readLines(place.events)
    const ended = await killed(place, 'after:post:5', 'siem')
    expect(ended.signal, ended.stderr).toBe('SIGKILL')
    forgetHolders(place)
    const after = await ship('--sink', 'siem')
    expect(after.code, after.stderr).toBe(0)
    expect([...new Set(far.taken)].sort()).toEqual(expected)
    // The page under way was the second one, of 300 events.
    expect(far.taken.length - whole).toBeLessThanOrEqual(300)
    expect(count(after.stdout, /([\d,]+) already there/)).toBeGreaterThanOrEqual(300)
  })

  test('beside a run: polled days get what they lack, once', async () => {
    const place = await workplace({ days: 120, pageSize: 20 }, { server: { port: 0 } })
    expect((await place.once()).code).toBe(0)
    const copy = join(place.folder, 'copy')
    place.configure({
      server: { port: 0 },
      sinks: [
        { name: 'archive', type: 'file', path: place.events },
        { name: 'copy', type: 'file', path: copy },
      ],
    })
    await using running = place.start(['run'])
    await running.waitForLine(/"event":"Started"/)
    const readable = daysFrom(shiftDay(today, -2), today)
    const range = ['--from', readable[0]!, '--to', 'today']
    const ended = await told(place, 'backfill', '--source', 'archive', '--sink', 'copy', ...range)
    expect(ended.code, ended.stderr).toBe(0)
    await running.kill('SIGTERM')
    const once = await place.once()
    expect(once.code, once.stderr).toBe(0)
    const all = keysOf(place.simulator, zones, readable)
    expect(compareFiles(copy, place.simulator, zones, readable)).toEqual(exactly(all.length))
    for (const { stream, lastFull, ended, fromArchive } of await inStore(place, (store) => store.list())) {
      expect([stream.day, lastFull === undefined, fromArchive]).toEqual([stream.day, false, undefined])
      if (stream.day === today) expect(ended).toBeUndefined()
    }
    for (const day of readable) {
      const audit = await told(place, 'audit', '--zone', '101,102', '--day', day, '--sink', 'copy', '--deep')
      expect(audit.code, audit.stdout).toBe(0)
    }
  })

  test('names days that are not there and lines that cannot be read, and ships the rest', async () => {
    const { place, copy, ship } = await archived()
    const parts = partsBelow(place.events)
    const plain = parts.find((part) => part.endsWith('.ndjson'))!
    appendFileSync(
      join(place.events, plain),
      'no event\n{"v":1,"id":"x","zone":{"id":999},"labels":{},"log":{}}\n{"v":1',
    )
    const gone = `zone=102/day=${days[1]}`
    rmSync(join(place.events, gone), { recursive: true })
    const ended = await ship('--sink', 'copy')
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain(`${days[1]}  zone 102 → copy: not among the files of archive\n`)
    expect(ended.stderr).toContain('300 events shipped, 0 already there, 3 lines not readable\n')
    expect(ended.stderr).toMatch(/-\w+\.ndjson, line \d+ \(it has no end\)\n/)
    expect(ended.stdout).toMatch(
      /900 events shipped, 0 already there, 3 lines not readable, 2 streams not whole/,
    )
    const expected = keysOf(place.simulator, zones, days).filter((key) => !key.startsWith(`102/${days[1]}`))
    expect(
      compare(
        linesBelow(copy).map(({ key }) => key),
        expected,
      ),
    ).toEqual(exactly(900))
  })

  test('reads on after a damaged part, and follows no link', async () => {
    const { place, copy, ship } = await archived()
    const [first, second] = partsBelow(place.events) as [string, string]
    const bytes = readFileSync(join(place.events, first))
    writeFileSync(join(place.events, first), bytes.subarray(0, bytes.length / 2))
    symlinkSync(join(place.events, second), join(place.events, `zone=101/day=${days[0]}/zzz.ndjson`))
    const ended = await ship('--sink', 'copy', '--zone', '101')
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain(', 1 damaged part\n')
    const shipped = linesBelow(copy).map(({ key }) => key)
    expect(new Set(shipped).size).toBe(shipped.length)
    expect(shipped.filter((key) => key.includes(days[1]))).toHaveLength(perDay)
    expect(shipped.length).toBeGreaterThan(perDay + 50)
  })
})

test('refuses what cannot be meant, with a remedy', async () => {
  const place = await workplace({ days: 0 })
  const file = (name: string, format = 'native') => ({
    name,
    type: 'file',
    path: join(place.folder, name),
    format,
  })
  const http = { name: 'siem', type: 'http', url: 'http://127.0.0.1:9/' }
  place.configure({ sinks: [file('archive'), file('copy'), file('entries', 'raw'), http] })
  const range = ['--from', days[0], '--to', days[1]]
  const refusals: [readonly string[], string][] = [
    [['--source', 'archive'], '--source needs --sink <sink>'],
    [['--source', 'archive', '--sink', 'archive'], 'are both archive: name another sink'],
    [['--source', 'archiv', '--sink', 'copy'], '--source archiv is not configured; did you mean archive?'],
    [['--source', 'archive', '--sink', 'cpy'], '--sink cpy is not configured; did you mean copy?'],
    [['--source', 'siem', '--sink', 'copy'], 'is of type http, and only file sinks keep files'],
    [
      ['--source', 'archive', '--sink', 'entries'],
      'give it the format native, or name a source with format raw',
    ],
    [['--source', 'archive', '--sink', 'copy', '--again'], '--again and --source exclude each other'],
    [['--source', 'archive', '--sink', 'copy', '--watch'], '--watch is not needed with --source'],
  ]
  for (const [args, said] of refusals) {
    const { code, stderr } = await told(place, 'backfill', ...range, ...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
  }
})

/** Every line that readers see, whatever form the parts have; in no order. */
function readLines(path: string): string[] {
  const lines = partsBelow(path).flatMap((part) => {
    const bytes = readFileSync(join(path, part))
    const text = (part.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
    return text.trimEnd().split('\n')
  })
  return lines.sort()
}

/** Otherwise the next command waits for 20 s, until the store has heard nothing of the one that was killed. */
function forgetHolders({ database }: Workplace): void {
  const opened = new DatabaseSync(database)
  opened.exec('DELETE FROM holder')
  opened.close()
}
