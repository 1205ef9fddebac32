import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Status } from '../../src/status/fleet.ts'
import { probeOf } from '../e2e/metrics.ts'
import { bodyOf, serveHttp } from '../setup/http-server.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openWorkshopWithApi } from './workshop.ts'
import { inStore } from '../setup/stores.ts'

test('a new state is told at the start, and the files of a lost one until they are moved away', async () => {
  const told: string[] = []
  const { url } = await serveHttp(async (request, response) => {
    told.push(await bodyOf(request))
    response.end()
  })
  const { execute, folder, start } = await openWorkshopWithApi(
    { days: 20 },
    { notify: [{ name: 'ops', kind: 'json', url }], log: { level: 'info' } },
  )
  const ofOther = async () => {
    const { problems } = JSON.parse((await execute('status', '--json')).stdout) as Status
    return problems.filter(({ kind }) => kind === 'other_state')
  }
  const isNew = 'the state is new: ships 3 days of 2 zones to archive'
  {
    await using first = start(['run'])
    await probeOf(first)
    await first.waitForLine(new RegExp(isNew))
    await waitFor(async () => (await (await probeOf(first)).get('/readyz')).status === 200, { what: 'all' })
    await first.kill('SIGTERM')
    expect(first.stderr()).not.toContain('another state')
  }
  expect(await ofOther()).toEqual([])
  {
    await using again = start(['run'])
    await again.waitForLine(/"event":"Started"/)
    await again.kill('SIGTERM')
    expect(again.stderr()).not.toMatch(/is new|another state/)
  }

  rmSync(join(folder, 'var'), { recursive: true })
  const where = `${join(folder, 'events')} were written under another state`
  const text = expect.stringContaining(where)
  // Before and while it ships.
  expect(await ofOther()).toMatchObject([{ sink: 'archive', text }])
  expect((await execute('check')).stdout.replaceAll(/\s+/g, ' ')).toContain(
    'and at the destinations of other sinks: shieldlog audit --deep',
  )
  await using running = start(['run'])
  const { get } = await probeOf(running)
  await running.waitForLine(new RegExp(isNew))
  await running.waitForLine(/written under another state/)
  await waitFor(async () => (await get('/readyz')).status === 200, { what: () => running.stderr() })
  const { problems } = JSON.parse((await get('/status')).text) as Status
  expect(problems.map(({ kind }) => kind)).toContain('other_state')
  expect((await get('/')).text).toContain('were written under another state')
  await waitFor(() => told.some((each) => /"begins".*another state/.test(each)), {
    what: () => running.stderr(),
  })

  const { stdout } = await execute('audit', '--deep')
  expect(stdout).toContain('To move them: ')
  rmSync(join(folder, 'events'), { recursive: true })
  expect(await ofOther()).toEqual([])
})

test('a state that nobody has used for long, as a restored copy, is told by check and at the start', async () => {
  const { execute, start, folder } = await openWorkshopWithApi({ days: 2 }, { log: { level: 'info' } })
  expect((await execute('run', '--once')).code).toBe(0)
  const idle = /the state was last used 2 h ago: if another copy of it was used since/
  const checked = async () => (await execute('check')).stdout.replaceAll(/\s+/g, ' ')
  expect(await checked()).not.toMatch(idle)
  await inStore({ database: join(folder, 'var', 'shieldlog.db') }, async ({ catalogue }) => {
    const plannedAtMs = Date.now() - 2 * 3_600_000
    await catalogue.rememberRoutes((await catalogue.routes()).map((route) => ({ ...route, plannedAtMs })))
  })
  expect(await checked()).toMatch(idle)
  await using running = start(['run'])
  const [line] = await running.waitForLine(/.*"event":"Started".*/)
  expect(line).toMatch(idle)
})
