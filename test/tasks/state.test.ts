import { appendFileSync, cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FileAudit } from '../../src/tasks/audit/audit-files.ts'
import type { Status } from '../../src/status/fleet.ts'
import { dayOf } from '../../src/domain/day.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openWorkshop, openWorkshopWithApi } from './workshop.ts'

const today = dayOf(Date.now())

test('moves everything of a sink, which continues under its new name without duplicates', async () => {
  const { configure, execute, folder, run, simulator } = await openWorkshopWithApi({
    days: 20,
    zones: [101, 102],
  })
  await execute('run', '--once')
  // What a killed process leaves behind: a torn delivery, and a part that was never committed.
  const parts = join(folder, 'events', 'shield_zone=101', `day=${today}`)
  const part = readdirSync(parts)[0]!
  cpSync(join(parts, part), join(parts, part.replace(/^0001/, '0002')))
  appendFileSync(join(parts, part), '{"v":1,"id":"torn"}\n{"v":1,"id":"to')

  const renamed = await run('state', 'rename-sink', 'archive', 'files')
  expect(renamed).toMatchObject({ code: 0, stdout: '6 streams moved from archive to files\n' })
  const told = renamed.stderr.trimEnd().split('\n')
  expect(readdirSync(parts)).toEqual([part])
  expect(told.at(-1)).toBe(
    'change the name of the sink to files in the configuration too, before the next run',
  )
  const sink = { name: 'files', type: 'file', path: join(folder, 'events') }
  const api = { baseUrl: simulator.url, accessKey: 'the-key-of-the-test' }
  configure({ api, sinks: [sink] })
  simulator.append(101, today, 5)
  expect((await execute('run', '--once')).code).toBe(0)
  // Neither the torn lines nor the part that was never committed are left, and nothing is shipped twice.
  const audit = await execute('audit', '--deep', '--json')
  const { files } = JSON.parse(audit.stdout) as { files: readonly FileAudit[] }
  expect(files.map(({ zone, lines, isEqual }) => [zone, lines, isEqual])).toEqual(
    [101, 102].flatMap((zone) => [20, 20, zone === 101 ? 25 : 20].map((lines) => [zone, lines, true])),
  )
  const status = JSON.parse((await execute('status', '--json')).stdout) as Status
  expect([status.unconfigured, status.routes.map(({ sink: name }) => name)]).toEqual([[], ['files', 'files']])
})

test('refuses while a run is active on the state, and names the process', async () => {
  const { execute, start } = await openWorkshopWithApi({ days: 1 })
  await using running = start(['run'])
  const read = async () => JSON.parse((await execute('status', '--json')).stdout) as Status
  await waitFor(async () => (await read()).workers.length > 0, { what: () => running.stderr() })
  const { code, stdout, stderr } = await execute('state', 'rename-sink', 'archive', 'files')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`another shieldlog runs on this state: process ${running.pid} on host`)
  expect(stderr).toContain('stop it first')
  await running.kill('SIGTERM')
  expect((await read()).routes.map(({ sink }) => sink)).toEqual(['archive', 'archive'])
})

test('reports an unknown sink with the known ones, and a name that is taken', async () => {
  const sinks = ['one', 'two'].map((name) => ({ name, type: 'file', path: `./var/${name}` }))
  const workshop = await openWorkshopWithApi({ days: 1 }, { zones: [101] })
  workshop.configure({ sinks: sinks.map((sink) => ({ ...sink, path: join(workshop.folder, sink.path) })) })
  const { execute } = workshop
  await execute('run', '--once')
  const unknown = await execute('state', 'rename-sink', 'tow', 'files')
  expect(unknown).toMatchObject({ code: 2, stdout: '' })
  expect(unknown.stderr).toBe('error: sink tow is not in the store; did you mean two?; available: one, two\n')
  const taken = await execute('state', 'rename-sink', 'one', 'two')
  expect(taken).toMatchObject({ code: 1, stdout: '' })
  expect(taken.stderr).toMatch(
    /^the sink name two is taken \(events were delivered under it\): give the sink its old name one again.*; or choose a name that was never used\n$/,
  )
  const none = await openWorkshop().execute('state', 'rename-sink', 'one', 'two')
  expect(none.stderr).toMatch(/^there is no store at .*: nothing to rename\n$/)
  expect(none.code).toBe(1)
})
