import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Status } from '../../src/status/fleet.ts'
import { probeOf } from '../e2e/metrics.ts'
import { bodyOf, serveHttp } from '../setup/http-server.ts'
import { smallDisk } from '../setup/small-disk.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openWorkshopWithApi } from './workshop.ts'

test('a state that cannot be written is a problem at once and everywhere, and is over by itself', async ({
  skip,
}) => {
  const disk = smallDisk(4)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  const told: string[] = []
  const { url } = await serveHttp(async (request, response) => {
    told.push(`${request.method} ${request.url} ${await bodyOf(request)}`)
    response.end()
  })
  const { execute, start } = await openWorkshopWithApi(
    { days: 300, pageSize: 50 },
    {
      state: `sqlite:${disk}/shieldlog.db`,
      notify: [{ name: 'ops', kind: 'json', url: `${url}/notify` }],
      heartbeat: { url: `${url}/beat`, everyMinutes: 0.02 },
      log: { level: 'info' },
    },
  )
  await using running = start(['run'])
  const { get, metric } = await probeOf(running)
  const ready = async () => {
    const { status, text } = await get('/readyz')
    return `${status} ${text}`
  }
  const problems = async () => {
    const { problems: all } = JSON.parse((await get('/status')).text) as Status
    return all.filter(({ kind }) => kind === 'unwritable')
  }
  const what = () => running.stderr()
  await waitFor(async () => (await ready()).startsWith('200 '), { what })
  expect(await metric('state_writable')).toEqual(new Map([['', 1]]))
  expect(await metric('state_failed_write_timestamp_seconds')).toEqual(new Map())
  expect((await metric('state_free_bytes')).get('')).toBeGreaterThan(0)
  expect(await problems()).toEqual([])

  const ballast = join(disk, 'ballast')
  expect(() => writeFileSync(ballast, Buffer.alloc(4_194_304))).toThrow('ENOSPC')
  await waitFor(async () => /^503 .*the state cannot be written: .*free space/.test(await ready()), { what })
  const text = expect.stringMatching(/^The state cannot be written since .*: .*free space on its disk\.$/)
  expect(await problems()).toEqual([expect.objectContaining({ text })])
  await waitFor(async () => (await metric('state_writable')).get('') === 0, { what })
  expect((await metric('state_free_bytes')).get('')).toBe(0)
  expect((await metric('state_failed_write_timestamp_seconds')).get('')).toBeGreaterThan(1_700_000_000)
  const { code, stdout, stderr } = await execute('status')
  expect([code, stdout.replaceAll(/\s+/g, ' '), stderr]).toEqual([
    1,
    expect.stringContaining('The state cannot be'),
    '',
  ])
  const checked = await execute('check')
  expect(checked.stdout.replaceAll(/\s+/g, ' ')).toMatch(/state FAIL .*free space on its disk/)
  expect((await get('/')).text).toContain('The state cannot be written')
  await waitFor(() => told.some((each) => /^POST \/beat\/fail .*cannot be written/.test(each)), { what })
  await waitFor(() => told.some((each) => /^POST \/notify .*"begins".*cannot be written/.test(each)), {
    what,
  })

  rmSync(ballast)
  await waitFor(async () => (await ready()).startsWith('200 '), { what })
  expect(await problems()).toEqual([])
  expect((await execute('status')).stdout).not.toContain('cannot be written')
  await waitFor(async () => (await metric('state_writable')).get('') === 1, { what })
})
