import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { startProcess } from '../../setup/processes.ts'
import { openWorkshopWithApi } from '../workshop.ts'
import * as faults from '../../simulator/faults.ts'

const today = () => dayOf(Date.now())

function idsIn(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id)
}

test('prints every event of the day to the last page, and touches no state', async () => {
  const { folder, run, simulator } = await openWorkshopWithApi({ pageSize: 40 })
  simulator.append(102, today(), 250)
  const { code, stdout, stderr } = await run('fetch', '--zone', '102', '--day', 'today')
  expect([code, stderr]).toEqual([0, ''])
  expect(idsIn(stdout)).toEqual(simulator.entries(102, today()).map(({ logId }) => logId))
  expect(existsSync(join(folder, 'var'))).toBe(false)
  expect(existsSync(join(folder, 'events'))).toBe(false)
})

test('ends at the limit, over several zones by id and name, in the chosen format', async () => {
  const { run, simulator } = await openWorkshopWithApi({ pageSize: 40 })
  for (const zone of [101, 102]) simulator.append(zone, shiftDay(today(), -1), 60)
  const args = ['--zone', 'shop,102', '--day', 'yesterday', '--limit', '70', '--format', 'raw']
  const { code, stdout } = await run('fetch', ...args)
  const entries = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { shieldZoneId: number })
  expect([code, entries.length]).toEqual([0, 70])
  expect(entries.filter(({ shieldZoneId }) => shieldZoneId === 102)).toHaveLength(10)
  expect(simulator.requests.filter(({ zone }) => zone === 102)).toHaveLength(1)
})

test('redacts as configured', async () => {
  const log = JSON.stringify({ RemoteIp: '198.51.100.7', RequestHeaders: { Cookie: 'session=s3cret' } })
  const { run, simulator } = await openWorkshopWithApi({}, { redact: { addresses: 'mask' } })
  simulator.append(101, today(), [{ logId: 'a', timestamp: Date.now(), log, labels: {} }])
  const { stdout } = await run('fetch', '--zone', 'shop', '--day', 'today', '--format', 'raw')
  expect(stdout).toContain('"logId":"a"')
  expect(stdout).not.toMatch(/198\.51\.100\.7|s3cret/)
})

test('ends without an error when its reader closes the pipe', async () => {
  const { folder, simulator } = await openWorkshopWithApi({ pageSize: 500 })
  simulator.append(101, today(), 20_000)
  const cli = `"${process.execPath}" "${projectFolder}src/cli.ts"`
  const line = `${cli} fetch --zone 101 --day today | head -n 1; echo "code \${PIPESTATUS[0]}"`
  const child = startProcess('bash', ['-c', line], { cwd: folder })
  expect(await child.exited).toEqual({ code: 0, signal: null })
  expect(child.stdout()).toMatch(/^\{"v":1,.*\}\ncode 0\n$/)
  expect(child.stderr()).toBe('')
  expect(simulator.requests.length).toBeLessThan(30)
})

test('explains days that the API does not keep', async () => {
  const { execute } = await openWorkshopWithApi()
  const { code, stdout, stderr } = await execute('fetch', '--zone', '101', '--day', '2020-02-29')
  expect([code, stdout]).toEqual([1, ''])
  const window = `the API answers for ${shiftDay(today(), -2)} to ${today()} (UTC)`
  expect(stderr).toContain(`2020-02-29 cannot be read: ${window}`)
})

test('reports once and immediately why it cannot read', async () => {
  const { configure, execute, simulator } = await openWorkshopWithApi()
  configure({ api: { baseUrl: simulator.url, accessKey: 'wrong-key' } })
  const { code, stdout, stderr } = await execute('fetch', '--zone', '101', '--day', 'today')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^event_logs of account default: the API refuses the access key[^\n]*\n$/)
  expect(stderr).not.toContain('wrong-key')
})

test('stops at a listing that does not end', async () => {
  const { run, simulator } = await openWorkshopWithApi({ pageSize: 10 })
  simulator.append(101, today(), 100)
  simulator.fail({ times: Infinity, fault: faults.repeatToken() })
  const { code, stderr } = await run('fetch', '--zone', '101', '--day', 'today')
  expect(code).toBe(1)
  expect(stderr).toMatch(/the listing of zone 101 on .* does not end: cursor_repeated after \d+ pages/)
})

test('prints events as a sink would get them, and refuses --format with --sink', async () => {
  const sinks = [{ name: 'siem', type: 'http', preset: 'ndjson', url: 'http://127.0.0.1:9/', format: 'raw' }]
  const { execute, run } = await openWorkshopWithApi({ days: 5 }, { sinks })
  const { code, stdout } = await run(
    'fetch',
    '--zone',
    '101',
    '--day',
    'today',
    '--limit',
    '1',
    '--sink',
    'siem',
  )
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ shieldZoneId: 101, logId: expect.any(String) })
  const place = ['fetch', '--zone', '101', '--day', 'today'] as const
  const both = await execute(...place, '--sink', 'siem', '--format', 'native')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('cannot be used with')])
  expect(await execute(...place, '--sink', 'sime')).toMatchObject({ code: 2 })
})
