import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { compareWithApi } from '../../../src/tasks/run/demo.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { dayOf } from '../../../src/domain/day.ts'
import { startCli } from '../../setup/processes.ts'
import { temporaryFolder } from '../../setup/temp.ts'

test('shows what it does, and with Ctrl-C finds each event once', async () => {
  // A configuration that lies about must not matter.
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'shieldlog.yaml'), 'zones: nonsense\n')
  const child = startCli(['demo'], { cwd, env: { TMPDIR: cwd } })
  await child.waitForLine(/^the first event in the file/)
  await child.waitForLine(/^zone 101 \(shop\): \d+ pages?, [1-9]\d* events shipped/)
  child.kill('SIGINT').catch(() => undefined)
  const ended = await child.exited
  const text = child.stderr()
  expect([ended, child.stdout()], text).toEqual([{ code: 0, signal: null }, ''])
  expect(text).toMatch(
    /^API {6}http:\/\/127\.0\.0\.1:\d+, simulated, with zones 101 \(shop\) and 102 \(blog\)$/m,
  )
  expect(text).toMatch(/^page {5}http:\/\/127\.0\.0\.1:\d+\/$/m)
  expect(text).toMatch(/^metrics {2}http:\/\/127\.0\.0\.1:\d+\/metrics$/m)
  expect(text).toMatch(/^ {2}rule {5}\{"id":"[^"]+"/m)
  expect(text).toMatch(/^shipped \d+ events to archive; read \d+ pages? of 2 zones in \d+\.\d s$/m)
  expect(text).toMatch(/^verified: [1-9]\d+ events in the files, none missing, none twice/m)
  expect(text).not.toMatch(/Error|"level"/)
  const [, events = ''] = /^events {3}(.*)$/m.exec(text) ?? []
  expect(text).toContain(`the shipped events are in ${events}\nto remove them: rm -r ${dirname(events)}\n`)
  expect(existsSync(events)).toBe(true)
  rmSync(dirname(events), { recursive: true })
})

test('counts events that are twice in the files, missing, or newer', async () => {
  const path = temporaryFolder()
  const today = dayOf(Date.now())
  const simulator = await startSimulator({ zones: [101, 102], days: 3 })
  onTestFinished(() => simulator.close())
  const folder = join(path, 'shield_zone=101', `day=${today}`)
  mkdirSync(folder, { recursive: true })
  const lines = simulator.entries(101, today).map(({ logId }) => JSON.stringify({ id: logId, zone: 101 }))
  lines.splice(1, 1)
  writeFileSync(join(folder, '1.ndjson'), `${lines.join('\n')}\n`)
  writeFileSync(join(folder, '2.ndjson'), `${lines[0]}\n`)
  expect(compareWithApi(path, simulator)).toBe(
    'DIFFERENT FROM THE API: 2 events in the files, 1 missing, 1 twice; the next poll would ship 15 newer',
  )
})
