import { appendFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { told } from '../tasks/backfill/backfilling.ts'
import { archived, days, perDay, readLines, whole } from './backfill-archive.ts'
import { compare, keysOf, linesBelow, partsBelow } from './shipped.ts'
import { workplace, zones } from './workplace.ts'
import { inStore } from '../setup/stores.ts'

describe('from the parts of a file sink', () => {
  test('ships days that the API no longer keeps, the same lines', async () => {
    const { place, copy, ship } = await archived()
    const lines = readLines(place.events)
    const asked = place.simulator.requests.length
    const ended = await ship('--sink', 'copy')
    expect(ended.code, ended.stderr).toBe(0)
    expect(readLines(copy)).toEqual(lines)
    expect(lines).toHaveLength(whole)
    expect(ended.stdout).toMatch(/^1200 events shipped, 0 already there, in /)
    expect(ended.stderr).toContain(`${days[0]}  zone 101 → copy: 300 events shipped, 0 already there\n`)

    const again = await ship('--sink', 'copy')
    expect(again.code, again.stderr).toBe(0)
    expect(again.stdout).toMatch(/^0 events shipped, 1200 already there, /)
    // What a running process forgets of such days is counted still, and is not shipped again.
    await inStore(place, async (store) => {
      for (const { stream, archiveSinceMs, ended } of await store.catalogue.checkpoints()) {
        if (stream.sink !== 'copy') continue
        expect(archiveSinceMs).toBeUndefined()
        expect(ended?.as).toBe('complete')
        await store.upkeep.dropIndex(stream)
      }
    })
    const forgotten = await ship('--sink', 'copy')
    expect(forgotten.code, forgotten.stderr).toBe(0)
    expect(forgotten.stdout).toMatch(/^0 events shipped, 1200 already there, /)
    const [, plain] = partsBelow(place.events).map((part) => join(place.events, part))
    const [line] = readFileSync(plain!, 'utf8').split('\n')
    const { id } = JSON.parse(line!) as { id: string }
    appendFileSync(plain!, `${line!.replace(id, 'another-one')}\n`)
    const differs = await ship('--sink', 'copy')
    expect(differs.code).toBe(1)
    expect(differs.stderr).toContain('left out: the day was shipped, but its deduplication index was dropped')
    expect(readLines(copy)).toEqual(lines)
    expect(place.simulator.requests).toHaveLength(asked)
  })

  test('names missing days, lines that cannot be read and damaged parts, follows no link, and ships the rest', async () => {
    const { place, copy, ship } = await archived()
    const parts = partsBelow(place.events)
    const [compressed, plain] = parts.map((part) => join(place.events, part)) as [string, string]
    const bytes = readFileSync(compressed)
    writeFileSync(compressed, bytes.subarray(0, bytes.length / 2))
    symlinkSync(plain, join(place.events, `shield_zone=101/day=${days[0]}/zzz.ndjson`))
    const last = join(
      place.events,
      parts.findLast((part) => part.startsWith(`shield_zone=101/day=${days[1]}`))!,
    )
    const strange = 'no event\n{"v":1,"id":"x","zone":{"id":999},"labels":{},"log":{}}\n{"v":1'
    appendFileSync(last, strange)
    rmSync(join(place.events, `shield_zone=102/day=${days[1]}`), { recursive: true })
    const ended = await ship('--sink', 'copy')
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain(', 1 damaged part\n')
    expect(ended.stderr).toContain(`${days[1]}  zone 102 → copy: left out: archive has no files of it\n`)
    expect(ended.stderr).toContain('300 events shipped, 0 already there, 3 lines unreadable\n')
    expect(ended.stderr).toMatch(/-\w+\.ndjson, line \d+ \(it has no end\)\n/)
    const shipped = linesBelow(copy).map(({ key }) => key)
    const expected = keysOf(place.simulator, zones, days).filter((key) => !key.startsWith(`102/${days[1]}`))
    const { missing, ...found } = compare(shipped, expected)
    expect(found).toMatchObject({ repeated: 0, strange: 0 })
    // Of the damaged part, the second half.
    expect(missing).toBeGreaterThan(0)
    expect(missing).toBeLessThan(perDay - 50)
  })
})

test('refuses contradictory options, with a remedy', async () => {
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
    [['--source', 'archive', '--sink', 'archive'], 'are both archive; use another sink'],
    [
      ['--source', 'archiv', '--sink', 'copy'],
      '--source archiv is no sink of files or objects that is configured; did you mean archive?',
    ],
    [['--source', 'archive', '--sink', 'cpy'], '--sink cpy is not configured; did you mean copy?'],
    [['--source', 'siem', '--sink', 'copy'], '--source siem is no sink of files or objects'],
    [['--source', 'archive', '--sink', 'entries'], 'or use a source with format raw'],
    [['--source', 'archive', '--sink', 'copy', '--watch'], '--watch does not work with --source'],
  ]
  for (const [args, said] of refusals) {
    const { code, stderr } = await told(place, 'backfill', ...range, ...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
  }
})
