import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { runCommand } from './run-command.ts'

const given = process.env['SHIELDLOG_TEST_DATE'] ?? ''
const wantedMs = given === '' ? performance.timeOrigin + performance.now() : Date.parse(given)
/** Other files of this worker may have run before. */
const slackMs = 600_000

test('tests, the program and its processes have the date that SHIELDLOG_TEST_DATE names', async () => {
  const { stdout } = await runCommand(process.execPath, ['-p', '[Date.now(), new Date().getTime()].join()'])
  for (const atMs of [
    Date.now(),
    new Date().getTime(),
    systemClock.now(),
    ...stdout.split(',').map(Number),
  ]) {
    expect(atMs).toBeGreaterThan(wantedMs - 2_000)
    expect(atMs).toBeLessThan(wantedMs + slackMs)
  }
})

test('HTTP servers send that date, unless they are given another one or none', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/none') response.sendDate = false
    response.writeHead(200, request.url === '/other' ? { date: 'Thu, 01 Oct 2026 00:00:00 GMT' } : {}).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const dateAt = async (path: string) => {
    const response = await request(`http://127.0.0.1:${port}${path}`)
    await response.body.dump()
    return response.headers['date']
  }
  const sentMs = Date.parse(String(await dateAt('/')))
  expect(Math.abs(sentMs - Date.now())).toBeLessThan(slackMs)
  expect([await dateAt('/other'), await dateAt('/none')]).toEqual([
    'Thu, 01 Oct 2026 00:00:00 GMT',
    undefined,
  ])
  server.close()
  server.closeAllConnections()
})

test('given dates are kept', () => {
  expect(new Date('2026-11-20T00:00:00Z').getTime()).toBe(Date.UTC(2026, 10, 20))
  expect(new Date(0)).toEqual(new Date('1970-01-01T00:00:00Z'))
  expect(new Date()).toBeInstanceOf(Date)
})
