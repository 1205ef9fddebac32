import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dayOf } from '../../src/domain/day.ts'
import type { Status } from '../../src/status/fleet.ts'
import { receiver } from '../e2e/receiver.ts'
import { linesBelow, linesIn, type Line } from '../e2e/shipped.ts'
import { fakeKey, startFakeBucket } from '../setup/fake-bucket.ts'
import { waitFor } from '../setup/wait-for.ts'
import { openWorkshopWithApi } from './workshop.ts'

const today = dayOf(Date.now())
const perDay = 20

/** Their ids. */
const filed = (folder: string) => linesBelow(folder).map(({ line }) => line.id)
const sent = (lines: readonly string[]) => lines.map((line) => (JSON.parse(line) as Line).id)

/** A file sink and an http sink, each with everything of one zone. */
async function openShipped() {
  const siem = await receiver()
  const workshop = await openWorkshopWithApi({ days: perDay, zones: [101] }, { zones: [101] })
  const events = join(workshop.folder, 'events')
  const sinks = (file: string, http: string) => [
    { name: file, type: 'file', path: events },
    { name: http, type: 'http', url: siem.url, compression: 'none' },
  ]
  workshop.configure({ sinks: sinks('archive', 'siem') })
  expect(await workshop.execute('run', '--once')).toMatchObject({ code: 0 })
  const shipped = linesIn(events)
  expect([shipped, siem.taken.length]).toEqual([3 * perDay, 3 * perDay])
  return { ...workshop, siem, events, sinks, shipped }
}

test('a renamed sink is held at a start, the others ship on, and each event arrives once', async () => {
  const { configure, execute, run, simulator, siem, events, sinks } = await openShipped()
  configure({ sinks: [...sinks('files', 'splunk'), { name: 'new', type: 'file', path: `${events}-new` }] })
  const checked = await execute('check')
  expect(checked.code).toBe(1)
  expect(checked.stdout).toMatch(/sink files +fail .*`shieldlog state rename-sink archive files`/i)
  expect(checked.stdout).toMatch(/sink splunk +fail .*`shieldlog state rename-sink siem splunk`/i)
  expect(checked.stdout).toMatch(/sink new +ok/i)

  simulator.append(101, today, 5)
  const once = await run('run', '--once')
  expect(once.code).toBe(1)
  expect(once.stderr).toContain('sink files: held: ')
  expect(once.stderr).toContain('state rename-sink siem splunk')
  const held = [linesIn(events), siem.taken.length, linesIn(`${events}-new`)]
  expect(held).toEqual([3 * perDay, 3 * perDay, 3 * perDay + 5])
  const status = JSON.parse((await execute('status', '--json')).stdout) as Status
  const byName = new Map(status.routes.map((route) => [route.sink, route]))
  expect(byName.get('files')).toMatchObject({ state: 'failing', lastError: { code: 'held' } })
  expect(byName.get('splunk')?.lastError?.message).toContain('state rename-sink siem splunk')
  expect(byName.get('new')?.lastError).toBeUndefined()
  const backfill = await execute('backfill', '--from', 'today', '--to', 'today', '--sink', 'files')
  expect(backfill).toMatchObject({ code: 1, stdout: '' })
  expect(backfill.stderr).toContain('state rename-sink archive files')
  // What is refused is not stored either: the remedy stays the same.
  const insisted = await execute('state', 'new-sink', 'files')
  expect(insisted).toMatchObject({ code: 1, stdout: '' })
  expect(insisted.stderr.replaceAll(/\s+/g, ' ')).toContain('state rename-sink archive files')
  expect((await execute('check')).stdout).toMatch(
    /sink files +fail .*`shieldlog state rename-sink archive files`/i,
  )

  expect((await execute('state', 'rename-sink', 'archive', 'files')).code).toBe(0)
  expect((await execute('state', 'rename-sink', 'siem', 'splunk')).code).toBe(0)
  expect(await execute('run', '--once')).toMatchObject({ code: 0 })
  for (const ids of [filed(events), sent(siem.taken), filed(`${events}-new`)]) {
    expect(ids).toHaveLength(3 * perDay + 5)
    expect(new Set(ids).size).toBe(ids.length)
  }
})

test('a sink that is renamed on SIGHUP is held until a person decides', async () => {
  const { configure, execute, start, simulator, siem, events, sinks } = await openShipped()
  const log = { level: 'info' }
  configure({ sinks: sinks('archive', 'siem'), log })
  await using running = start(['run'])
  const routes = async () => (JSON.parse((await execute('status', '--json')).stdout) as Status).routes
  const isAll = (state: string) => async () => (await routes()).every((each) => each.state === state)
  // Before that a signal would end it.
  await waitFor(() => running.stderr().includes('"Started"'), { what: () => running.stderr() })
  configure({ sinks: sinks('files', 'splunk'), log })
  process.kill(running.pid, 'SIGHUP')
  await waitFor(() => running.stderr().includes('SinkHeld'), { what: () => running.stderr() })
  await waitFor(isAll('failing'), { what: () => running.stderr() })
  simulator.append(101, today, 5)
  expect(running.stderr().match(/"event":"SinkHeld"/g)).toHaveLength(2)
  expect([linesIn(events), siem.taken.length]).toEqual([3 * perDay, 3 * perDay])

  // The http sink is a new one after all; the process takes that up without a restart.
  expect((await execute('state', 'new-sink', 'splunc')).stderr).toMatch(
    /^error: sink splunc is not configured;/,
  )
  expect((await execute('state', 'new-sink', 'splunk')).stdout).toContain('splunk is a new sink')
  const again = async () => siem.taken.length === 6 * perDay + 5
  await waitFor(again, { what: () => running.stderr() })
  expect(running.stderr()).toContain('sink splunk: no longer held')
  // The file sink goes on under its old name.
  configure({ sinks: sinks('archive', 'splunk'), log })
  process.kill(running.pid, 'SIGHUP')
  const delivered = async () => {
    const archive = (await routes()).find(({ sink }) => sink === 'archive')
    return archive?.days.find(({ day }) => day === today)?.delivered
  }
  // Lines before their commit would be cut at the stop.
  await waitFor(async () => (await delivered()) === perDay + 5, { what: () => running.stderr() })
  await running.kill('SIGTERM')
  expect(new Set(filed(events)).size).toBe(3 * perDay + 5)
})

test('a file sink refuses the folder of another sink of its state, also as a new sink, and takes one of another state', async () => {
  const { configure, execute, folder, events } = await openShipped()
  configure({
    sinks: [
      { name: 'archive', type: 'file', path: `${events}-moved` },
      { name: 'files', type: 'file', path: events },
    ],
  })
  const before = linesIn(events)
  const checked = await execute('check')
  expect(checked.stdout).toMatch(/sink files +fail .*has files of sink archive of the same state/i)
  expect((await execute('run', '--once')).code).toBe(1)
  expect(linesIn(events)).toBe(before)
  expect(linesIn(`${events}-moved`)).toBe(0)
  const insisted = await execute('state', 'new-sink', 'files')
  expect(insisted).toMatchObject({ code: 1, stdout: '' })
  expect(insisted.stderr).toContain('Set another path')
  rmSync(join(folder, 'var'), { recursive: true })
  expect((await execute('run', '--once')).code).toBe(0)
})

test('an s3 sink is no new sink on the prefix of another one of its state, only on another prefix', async () => {
  const { url } = await startFakeBucket()
  const { configure, execute } = await openWorkshopWithApi({ days: perDay, zones: [101] }, { zones: [101] })
  const lake = { type: 's3', bucket: 'waf', endpoint: url, ...fakeKey }
  configure({ sinks: [{ ...lake, name: 'lake' }] })
  expect(await execute('run', '--once')).toMatchObject({ code: 0 })
  configure({ sinks: [{ ...lake, name: 'archive' }] })
  const insisted = await execute('state', 'new-sink', 'archive')
  expect(insisted).toMatchObject({ code: 1, stdout: '' })
  expect(insisted.stderr.replaceAll(/\s+/g, ' ')).toContain('set another prefix')
  configure({ sinks: [{ ...lake, name: 'archive', prefix: 'archive/' }] })
  expect(await execute('run', '--once')).toMatchObject({ code: 0 })
})

test('what was only planned under a new name does not keep the old one from moving there', async () => {
  const { configure, execute, simulator, siem, sinks } = await openShipped()
  configure({ sinks: sinks('archive', 'splunk') })
  expect((await execute('state', 'new-sink', 'splunk')).code).toBe(0)
  siem.answer(() => ({ status: 403 }))
  expect((await execute('run', '--once')).code).toBe(1)
  siem.answer(() => ({ status: 200 }))
  expect((await execute('state', 'rename-sink', 'siem', 'splunk')).code).toBe(0)
  simulator.append(101, today, 5)
  expect((await execute('run', '--once')).code).toBe(0)
  expect(siem.taken).toHaveLength(3 * perDay + 5)
})

test('a file sink whose folder cannot be read is held itself, and stops no other one', async () => {
  const { configure, execute, events, folder, shipped, siem, simulator, sinks } = await openShipped()
  const notAFolder = join(folder, 'a-file')
  writeFileSync(notAFolder, '')
  configure({
    sinks: [...sinks('archive', 'siem'), { name: 'broken', type: 'file', path: `${notAFolder}/x` }],
  })
  simulator.append(101, today, 5)
  const once = await execute('run', '--once')
  expect(once.code).toBe(1)
  expect([linesIn(events), siem.taken.length]).toEqual([shipped + 5, shipped + 5])
  const status = await execute('status', '--json')
  const { routes } = JSON.parse(status.stdout) as Status
  const broken = routes.find(({ sink }) => sink === 'broken')
  expect(broken?.lastError?.message).toContain('not a directory (ENOTDIR)')
  rmSync(notAFolder)
  expect(await execute('run', '--once')).toMatchObject({ code: 0 })
  expect(linesIn(`${notAFolder}/x`)).toBe(shipped + 5)
})
