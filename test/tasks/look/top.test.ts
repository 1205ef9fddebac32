import { expect, test } from 'vitest'
import { topLines } from '../../../src/tasks/look/top.ts'
import { paintFor } from '../../../src/terminal/text.ts'
import { dayOf } from '../../../src/domain/day.ts'
import { openWorkshopWithApi } from '../workshop.ts'

const rows = [
  { key: '930130', what: 'Restricted File Access Attempt', count: 4120 },
  { key: '941100', what: 'XSS Attack Detected via libinjection, with a long text after it', count: 812 },
  { key: '2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff and some more', count: 1 },
]

test('fits a terminal with bars in proportion, and prints whole texts and plain numbers to a pipe', () => {
  for (const columns of [80, 120]) {
    const lines = topLines(rows, 'rule', paintFor({ write: () => undefined, isTTY: true, columns }))
    for (const line of lines) expect(line.length).toBeLessThan(columns)
    const bars = lines.map((line) => /█[█▏▎▍▌▋▊▉]*$/.exec(line)?.[0].length ?? 0)
    expect(bars[1]).toBeGreaterThan(bars[2]! * 3)
    expect(lines[1]).toContain('4,120')
  }
  const piped = topLines(rows, 'rule', paintFor({ write: () => undefined }))
  expect(piped[1]).toMatch(/^930130 .* Restricted File Access Attempt {2,}4120$/)
  expect(piped[2]).toContain('with a long text after it')
  expect(piped.join('')).not.toMatch(/[█…]/)
})

const count = (stdout: string) =>
  stdout
    .split('\n')
    .slice(1, -1)
    .reduce((sum, line) => sum + Number(/(\d+)$/.exec(line)?.[1]), 0)

test('counts the events of the API and of a file sink alike', async () => {
  const { execute, run } = await openWorkshopWithApi({ days: 200, pageSize: 50 })
  for (const by of ['rule', 'address', 'country', 'asn', 'url', 'action']) {
    const { code, stdout, stderr } = await execute('top', '--by', by, '--since', '3d', '--limit', '1000')
    expect([code, stdout.split('\n')[0]!.startsWith(by)]).toEqual([0, true])
    expect(stderr).toMatch(/^3 d, 2 zones, [\d,]+ events\.\n/m)
    expect(stderr).toMatch(/ is not counted, since the API no longer lists it/)
    expect(stderr.includes('shieldlog rate-limit update ID')).toBe(by === 'address')
    expect(count(stdout)).toBe(Number(/([\d,]+) events/.exec(stderr)![1]!.replaceAll(',', '')))
  }
  expect(await run('run', '--once')).toMatchObject({ code: 0 })
  const args = ['top', '--by', 'action', '--since', '3d', '--zone', 'shop']
  const fromFiles = await execute(...args, '--source', 'archive')
  expect(fromFiles).toMatchObject({ code: 0, stdout: (await execute(...args)).stdout })
  expect(count(fromFiles.stdout)).toBeGreaterThan(300)
})

test('counts by rule unless told otherwise, and reports that nothing was found', async () => {
  const { execute, simulator } = await openWorkshopWithApi({ days: 0 })
  expect(await execute('top')).toEqual({ code: 0, stdout: '', stderr: '1 h, 2 zones, 0 events.\n' })
  simulator.append(101, dayOf(Date.now()), 5)
  expect((await execute('top')).stdout).toMatch(/^rule /)
})
