import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { executeWith } from '../commands/workshop.ts'
import { waitFor } from '../setup/wait-for.ts'
import { linesBelow, partsBelow } from './shipped.ts'
import { readableDays, workplace } from './workplace.ts'

const [, , today] = readableDays()

interface Report {
  readonly files: readonly {
    readonly isEqual: boolean
    readonly lines: number
    readonly missing: number
    readonly problems: Readonly<Record<string, number>>
    readonly badLines: readonly { readonly line: number }[]
  }[]
}

test('files in use cause no false difference, and a real one is found', async () => {
  const place = await workplace({
    zones: [101],
    days: { [today]: 300 },
    pageSize: 50,
    live: { ratePerSecond: 20 },
  })
  place.configure({
    zones: [101],
    sinks: [{ name: 'archive', type: 'file', path: place.events, rotate: { maxBytes: 60_000 } }],
  })
  const audit = async () => {
    const args = ['audit', '--zone', '101', '--day', today, '--deep', '--json']
    const ended = await executeWith(place.configFile, args)
    return { ...ended, file: (JSON.parse(ended.stdout) as Report).files[0]! }
  }
  const child = place.start(['run'])
  const lines = () => linesBelow(place.events).length
  await waitFor(() => lines() > 320, { what: () => `lines: ${child.stderr()}` })
  let [first, before] = [Infinity, 0]
  for (let index = 0; index < 4; index++) {
    const { code, file, stdout } = await audit()
    expect([code, file.isEqual], stdout).toEqual([0, true])
    // What stands on the disk is committed a moment later.
    expect(file.lines).toBeGreaterThanOrEqual(before)
    before = file.lines
    first = Math.min(first, before)
    await waitFor(() => lines() > before, { what: () => `more than ${before} lines: ${child.stderr()}` })
  }
  expect(before).toBeGreaterThan(first)
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  const [part = ''] = partsBelow(place.events)
  const path = join(place.events, part)
  writeFileSync(path, readFileSync(path, 'utf8').replace(/"id":"./, '"id":"-'))
  const { code, file } = await audit()
  expect([code, file.missing, file.problems['unknown']]).toEqual([1, 1, 1])
  expect(file.badLines).toMatchObject([{ line: 1 }])
})
