import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { keepSystemdInformed, type SystemdEnvironment } from '../../src/notify/systemd.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'

/** What is told while a program of the test stands in the place of systemd-notify, which needs a running systemd. */
function start(environment: SystemdEnvironment) {
  const folder = temporaryFolder()
  const told = join(folder, 'told')
  const program = join(folder, 'systemd-notify')
  writeFileSync(program, `#!/bin/sh\necho "$*" >> ${told}\n`)
  chmodSync(program, 0o755)
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const world = { isHealthy: true }
  const stop = new AbortController()
  const isHealthy = () => world.isHealthy
  const running = keepSystemdInformed(environment, { clock: systemClock, isHealthy }, stop.signal)
  const stopped = () => (stop.abort(), running)
  onTestFinished(stopped)
  const lines = () => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : [])
  return { world, lines, stopped, running }
}

test('a service is told to be ready, and to live while it is healthy', async () => {
  const { world, lines, stopped } = start({ NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '30000' })
  await waitFor(() => lines().length >= 4, { what: () => lines().join() })
  expect(lines().slice(0, 2)).toEqual(['READY=1', 'WATCHDOG=1'])
  world.isHealthy = false
  await stopped()
  expect(new Set(lines().slice(1))).toEqual(new Set(['WATCHDOG=1']))
})

test('without a watchdog only ready is told, and outside systemd nothing', async () => {
  const alone = start({ NOTIFY_SOCKET: '/run/x' })
  await alone.running
  expect(alone.lines()).toEqual(['READY=1'])
  const outside = start({})
  await outside.running
  expect(outside.lines()).toEqual([])
})
