import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dayOf } from '../../../src/domain/day.ts'
import { accessKey, executeWith, openWorkshopWithApi } from '../workshop.ts'

const pullZone =
  'the API does not know zone 500101 for account default: 500101 is the pull zone of shield zone 101; write 101 in its place'
const nowhere =
  'the API does not know zone 999 for account default; it lists 101, 102; remove it from zones, or list it under the account that owns it'

async function withZones(...zones: number[]) {
  const workshop = await openWorkshopWithApi({ days: 20, live: { ratePerSecond: 20 } })
  workshop.configure({ api: { baseUrl: workshop.simulator.url, accessKey }, zones })
  return workshop
}

const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

test.each([
  [500_101, pullZone],
  [999, nowhere],
])('fetch, tail and top of the unknown zone %i name it and say what to do', async (zone, said) => {
  const { execute } = await withZones(zone)
  for (const args of [['fetch', '--zone', String(zone), '--day', 'today'], ['tail'], ['top']]) {
    const { code, stdout, stderr } = await execute(...args)
    expect([code, stdout, plain(stderr)], args[0]).toEqual([1, '', said])
  }
})

test('top counts the other zones, and exits with 1', async () => {
  const { execute, simulator } = await withZones(500_101, 102, 999)
  // Of the day's events, late in the day none is of its last hour.
  simulator.append(102, dayOf(Date.now()), 3)
  const { code, stdout, stderr } = await execute('top')
  expect(code).toBe(1)
  expect(plain(stderr)).toMatch(`${pullZone} ${nowhere} 1 h, 1 zone, `)
  expect(stdout).toMatch(/^rule +what it matches +events\n(?:.+\n)+$/)
})

test('tail follows the other zones after a warning', async () => {
  const { folder } = await withZones(500_101, 102)
  const stop = new AbortController()
  let lines = 0
  const write = (part: string) => void ((lines += part.split('\n').length - 1) > 15 && stop.abort())
  const ended = executeWith(join(folder, 'shieldlog.yaml'), ['tail'], {
    stdout: { write },
    signal: stop.signal,
  })
  const { code, stderr } = await ended
  expect([code, plain(stderr)]).toEqual([0, pullZone])
})
