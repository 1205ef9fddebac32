import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FileAudit } from '../../src/tasks/audit/audit-files.ts'
import type { Status } from '../../src/status/fleet.ts'
import { dayOf } from '../../src/domain/day.ts'
import { readPage } from '../docs/pages.ts'
import { linesIn } from '../e2e/shipped.ts'
import { waitFor } from '../setup/wait-for.ts'
import { executeWith, openWorkshop, openWorkshopWithApi } from './workshop.ts'

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
  expect(unknown.stderr).toBe('error: sink tow is not in the state; did you mean two?; available: one, two\n')
  const taken = await execute('state', 'rename-sink', 'one', 'two')
  expect(taken).toMatchObject({ code: 1, stdout: '' })
  expect(taken.stderr).toMatch(
    /^the sink name two is taken \(events were delivered under it\): give the sink its old name one again.*; or choose a name that was never used\n$/,
  )
  const none = await openWorkshop().execute('state', 'rename-sink', 'one', 'two')
  expect(none.stderr).toMatch(/^there is no state at .*: nothing to rename\n$/)
  expect(none.code).toBe(1)
})

test('copies a state that a run writes to; a restored copy ships nothing of what the copy knows again', async () => {
  const { execute, folder, start, simulator } = await openWorkshopWithApi({ days: 1 }, { zones: [101] })
  const copy = join(folder, 'copy.db')
  const none = await execute('state', 'backup', copy)
  expect(none).toMatchObject({ code: 1, stdout: '' })
  expect(none.stderr).toMatch(/^there is no state at /)
  {
    await using running = start(['run'])
    simulator.append(101, today, 5)
    await waitFor(() => linesIn(join(folder, 'events')) === 8, { what: () => running.stderr() })
    const done = await execute('state', 'backup', copy)
    expect(done.code).toBe(0)
    expect(done.stdout).toMatch(/^copied \d+\.\d MB from sqlite:.* to .*copy\.db\n$/)
    await running.kill('SIGTERM')
  }
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  const taken = await execute('state', 'backup', copy)
  expect([taken.code, taken.stdout]).toEqual([1, ''])
  expect(taken.stderr).toMatch(/there is a file with that name: name a new one\n$/)
  const before = linesIn(join(folder, 'events'))
  // As the page says for a volume: everything beside the state goes, too.
  const steps = /sh (?:shieldlog )?-c 'cd \/var\/lib\/shieldlog(?:\/var)? && (.+)' < copy\.db/g
  const scripts = [...readPage('docs/install.md').matchAll(steps)].map(([, script = '']) => script)
  expect(new Set(scripts).size).toBe(1)
  expect(scripts).toHaveLength(2)
  execFileSync('sh', ['-c', scripts[0]!], { cwd: join(folder, 'var'), input: readFileSync(copy) })
  expect(readdirSync(join(folder, 'var'))).toEqual(['shieldlog.db'])
  expect(statSync(join(folder, 'var', 'shieldlog.db')).mode & 0o777).toBe(0o600)
  expect((await execute('run', '--once')).code).toBe(0)
  expect(linesIn(join(folder, 'events'))).toBe(before)
  const audit = await execute('audit', '--deep', '--json')
  expect(JSON.parse(audit.stdout)).toMatchObject({ isEqual: true })
})

test('forgets a sink and a zone that were removed from the configuration, once a person confirms it', async () => {
  const workshop = await openWorkshopWithApi({ days: 3, zones: [101, 102] }, { zones: [101, 102] })
  const { configure, execute, folder } = workshop
  const config = join(folder, 'shieldlog.yaml')
  const sinks = ['one', 'two'].map((name) => ({ name, type: 'file', path: join(folder, name) }))
  configure({ sinks })
  await execute('run', '--once')
  const configured = await execute('state', 'forget-sink', 'two')
  expect(configured).toMatchObject({ code: 1, stdout: '' })
  expect(configured.stderr).toMatch(/^sink two is configured: remove it from the configuration/)
  configure({ sinks: sinks.slice(0, 1), zones: [101] })
  const unknown = await execute('state', 'forget-sink', 'tow')
  expect(unknown).toMatchObject({
    code: 2,
    stderr: 'error: sink tow is not in the state; did you mean two?; available: one, two\n',
  })
  const asked: string[] = []
  const answering = (answer: string) => async (question: string) => (asked.push(question), answer)
  const kept = await executeWith(config, ['state', 'forget-sink', 'two'], { ask: answering('n') })
  expect(kept).toMatchObject({ code: 1, stdout: '', stderr: 'nothing was forgotten\n' })
  expect(asked).toEqual([
    expect.stringMatching(/^forget sink two: 6 streams, 0 gaps, 0 dead letters\? What it has received stays/),
  ])
  const gone = await executeWith(config, ['state', 'forget-sink', 'two'], { ask: answering('y') })
  expect(gone).toMatchObject({ code: 0, stdout: 'forgot sink two: 6 streams, 0 gaps, 0 dead letters\n' })
  expect((await execute('state', 'forget-zone', '102')).stderr).toMatch(/confirm with --yes/)
  expect(await execute('state', 'forget-zone', '102', '--yes')).toMatchObject({ code: 0 })
  const { unconfigured, problems } = JSON.parse((await execute('status', '--json')).stdout) as Status
  expect([unconfigured, problems.filter(({ kind }) => kind === 'unconfigured')]).toEqual([[], []])
})
