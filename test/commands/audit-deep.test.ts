import { appendFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { accessKey } from './workshop.ts'
import {
  deep,
  edit,
  events,
  expectWhole,
  idOf,
  linesOf,
  none,
  partsOf,
  pathOf,
  shipped,
  yesterday,
  type Shop,
} from './deep-audit.ts'
import type { FileAudit } from '../../src/domain/audit-report.ts'

test('counts lines of parts that another sink or another state wrote, and differs', async () => {
  const workshop = await shipped()
  const api = { baseUrl: workshop.simulator.url, accessKey }
  const path = join(workshop.folder, 'events')
  const folder = join(path, 'zone=101', `day=${yesterday}`)
  // The state is lost: everything is shipped again, beside the old parts.
  rmSync(join(workshop.folder, 'var'), { recursive: true })
  expect((await workshop.execute('run', '--once')).code).toBe(0)
  const { code, report, file } = await deep(workshop)
  const why = 'written under another store: the state was lost or replaced'
  expect([code, report.isEqual, report.missing]).toEqual([1, false, 0])
  expect(file).toMatchObject({
    isEqual: false,
    lines: events,
    missing: 0,
    foreign: [{ why, parts: 1, lines: events }],
  })

  // A second sink wrote into the folder, and a hand put a file there.
  const elsewhere = [{ name: 'files', type: 'file', path: `${path}-2` }]
  workshop.configure({ api, sinks: [{ name: 'archive', type: 'file', path }, ...elsewhere] })
  expect((await workshop.execute('run', '--once')).code).toBe(0)
  cpSync(join(`${path}-2`, '.shieldlog'), join(path, '.shieldlog'), { recursive: true })
  cpSync(join(`${path}-2`, 'zone=101', `day=${yesterday}`), folder, { recursive: true })
  writeFileSync(join(folder, 'notes.ndjson'), 'one\ntwo\nthree')
  const sink = ['--sink', 'archive']
  const again = await deep(workshop, ...sink)
  expect(again.code).toBe(1)
  expect(again.file.foreign).toHaveLength(3)
  expect(again.file.foreign).toEqual(
    expect.arrayContaining([
      { why, parts: 1, lines: events },
      { why: 'written by sink files', parts: 1, lines: events },
      { why: 'its name is not the name of a part', parts: 1, lines: 3 },
    ]),
  )
  const text = await workshop.execute('audit', '--zone', '101', '--day', yesterday, '--deep', ...sink)
  expect(text.stdout).toMatch(new RegExp(`^101  ${2 * events + 3} more lines$`, 'm'))
  const said = text.stdout.replaceAll(/\s+/g, ' ')
  expect(said).toContain(`${events} more lines in 1 part written by sink files`)
  expect(said).not.toContain('To repair')
  const html = join(workshop.folder, 'audit.html')
  await workshop.execute('audit', '--zone', '101', '--day', yesterday, '--deep', '--report', html, ...sink)
  expect(readFileSync(html, 'utf8')).toContain(
    `${2 * events + 3} lines in files that the state does not know`,
  )
})

test('reports intact files as equal', async () => {
  const workshop = await shipped()
  const { code, report, file } = await deep(workshop)
  expect([code, report.isEqual]).toEqual([0, true])
  expect(file).toMatchObject({
    lines: events,
    ledger: events,
    missing: 0,
    problems: none,
    minutes: [],
    parts: [],
  })
  const text = await workshop.execute('audit', '--zone', '101', '--day', yesterday, '--deep')
  expect(text.stdout).toMatch(
    new RegExp(`^101  ok\n\n.*: the API lists ${events} events; files have ${events} lines; 0 missing`, 'm'),
  )
})

describe('what was done to a file by hand', () => {
  /** Does something to a part, and tells what the audit has to find. */
  interface Case {
    readonly name: string
    readonly harm: (path: string, workshop: Shop) => void
    readonly missing: number
    readonly problems?: Partial<FileAudit['problems']>
    /** Line numbers of the problems. */
    readonly lines?: readonly number[]
    readonly part?: string
    /** What is left to say after a repair; an extra stays. */
    readonly stays?: boolean
  }

  const sameLength = (line: string) =>
    line.replace(/"id":"(.)/, (_, first) => `"id":"${first === 'x' ? 'y' : 'x'}`)
  const cases: readonly Case[] = [
    {
      name: 'a line whose id was altered',
      harm: (path) => edit(path, (lines) => lines.with(6, sameLength(lines[6]!))),
      missing: 1,
      problems: { unknown: 1 },
      lines: [7],
      stays: true,
    },
    {
      name: 'a line that stands in the place of another',
      harm: (path) => edit(path, repeatedAtEnd),
      missing: 1,
      problems: { doubled: 1 },
      lines: [40],
      stays: true,
    },
    {
      name: 'a line that nobody can read',
      harm: (path) => edit(path, (lines) => lines.with(9, lines[9]!.replaceAll('"', '.'))),
      missing: 1,
      problems: { unreadable: 1 },
      lines: [10],
      stays: true,
    },
    {
      name: 'a part that lost its end, within a line',
      harm(path) {
        const text = readFileSync(path)
        writeFileSync(path, text.subarray(0, text.length - linesOf(path).at(-1)!.length - 20))
      },
      missing: 2,
      problems: { torn: 1 },
      lines: [events - 1],
      part: 'short',
    },
    {
      name: 'a last line that lost its end, and stayed as long',
      harm: (path) => writeFileSync(path, readFileSync(path, 'utf8').replace(/\n$/, ' ')),
      missing: 1,
      problems: { torn: 1 },
      lines: [events],
    },
    {
      name: 'a part that lost its last lines',
      harm: (path) => edit(path, (lines) => lines.slice(0, -5)),
      missing: 5,
      part: 'short',
    },
    {
      name: 'a part that is gone',
      harm: (path) => rmSync(path),
      missing: events,
      part: 'missing',
    },
    {
      name: 'lines beyond what is committed',
      harm: (path) => appendFileSync(path, '{"v":1,"id":"more","time":"2026-11-19T00:00:00.000Z"}\n'),
      missing: 0,
      part: 'longer',
    },
    {
      name: 'a part of its own writer that the store does not know',
      harm: (path) => writeFileSync(path.replace('0001-', '0002-'), readFileSync(path)),
      missing: 0,
      part: 'unknown',
    },
  ]

  test.for(cases)('$name', async ({ harm, missing, problems = {}, lines = [], part, stays = false }) => {
    const workshop = await shipped()
    harm(pathOf(workshop), workshop)
    const found = await deep(workshop)
    expect(found.code).toBe(1)
    // The API and the ledger tell the same all the while.
    expect(found.report).toMatchObject({ isEqual: false, missing: 0, extra: 0 })
    expect(found.file).toMatchObject({ isEqual: false, missing, problems: { ...none, ...problems } })
    expect(found.file.badLines.map(({ line }) => line)).toEqual(lines)
    expect(found.file.parts.map(({ problem }) => problem)).toEqual(part === undefined ? [] : [part])
    let byMinute = 0
    for (const minute of found.file.minutes) byMinute += minute.missing
    expect(byMinute).toBe(missing)

    const repaired = await deep(workshop, '--repair')
    expect(repaired.file).toMatchObject({ missing: 0, restored: missing })
    expect([repaired.code, repaired.stderr]).toEqual([
      stays ? 1 : 0,
      expect.stringContaining(`repairing zone 101 on ${yesterday} → archive\n`),
    ])
    if (stays) expect(repaired.file.badLines.map(({ line }) => line)).toEqual(lines)
    else await expectWhole(workshop)
    const again = await deep(workshop)
    expect([again.code, again.file.missing]).toEqual([stays ? 1 : 0, 0])
    // A second repair finds nothing more to write.
    expect((await deep(workshop, '--repair')).file).toMatchObject({
      missing: 0,
      ...(stays && { restored: 0 }),
    })
  })

  test('is reported by part and line number', async () => {
    const workshop = await shipped()
    const path = pathOf(workshop)
    const id = idOf(linesOf(path)[6])
    edit(path, (lines) => lines.with(6, sameLength(lines[6]!)))
    const { stdout } = await workshop.execute('audit', '--zone', '101', '--day', yesterday, '--deep')
    expect(stdout).toMatch(
      new RegExp(`part ${partsOf(workshop)[0]} line 7 is unknown, event [xy]${id.slice(1)} of `),
    )
    expect(stdout).toMatch(/^101 {2}files differ$/m)
    expect(stdout).toMatch(
      /, files: .* 40 lines, .* 40 events\. Events without a line: 1 at ..:..\. Bad lines: 1 unknown\.$/m,
    )
    expect(stdout).toMatch(/^To repair: .* --deep --repair$/m)
    // The last line, which is often all that is read, must not say only that nothing is missing.
    expect(stdout).toContain(`files have ${events} lines and lack 1; 0 missing`)
  })
})

/** The shortest line stands at the end instead of the longest; blanks, which JSON does not mind, make up for its length. */
function repeatedAtEnd(lines: readonly string[]): string[] {
  const byLength = lines.toSorted((one, other) => one.length - other.length)
  const [shortest, longest] = [byLength[0]!, byLength.at(-1)!]
  const others = lines.filter((line) => line !== longest)
  const blanks = ' '.repeat(longest.length - shortest.length)
  return [...others, `${shortest.slice(0, -1)}${blanks}}`]
}

describe('compressed parts', () => {
  test.for([
    ['gz', gzipSync],
    ['zst', (bytes: Buffer) => zstdCompressSync(bytes)],
  ] as const)('.%s are read like plain parts', async ([suffix, compress]) => {
    const workshop = await shipped()
    const path = pathOf(workshop)
    const bytes = readFileSync(path)
    rmSync(path)
    writeFileSync(`${path}.${suffix}`, compress(bytes))
    expect((await deep(workshop)).file).toMatchObject({ isEqual: true, lines: events })
    const lines = bytes.toString('utf8').split('\n')
    const altered = lines.with(4, lines[4]!.replace(/"id":"./, '"id":"-')).join('\n')
    writeFileSync(`${path}.${suffix}`, compress(Buffer.from(altered)))
    expect((await deep(workshop)).file).toMatchObject({
      missing: 1,
      problems: { ...none, unknown: 1 },
      badLines: [{ line: 5, problem: 'unknown' }],
    })
  })

  test('that are damaged are reported with the length that can be read', async () => {
    const workshop = await shipped()
    const path = pathOf(workshop)
    const packed = gzipSync(readFileSync(path))
    rmSync(path)
    packed.fill(0, packed.length - 400, packed.length - 8)
    writeFileSync(`${path}.gz`, packed)
    expect(() => gunzipSync(packed)).toThrow()
    const { code, file } = await deep(workshop)
    expect([code, file.problems.damaged]).toEqual([1, 1])
    expect(file.missing).toBe(events - file.lines)
    // Moved out of the way, all of its lines can be written again.
    renameSync(`${path}.gz`, join(workshop.folder, 'damaged.gz'))
    const repaired = await deep(workshop, '--repair')
    expect([repaired.code, repaired.file.restored]).toEqual([0, events])
    await expectWhole(workshop)
  })
})
