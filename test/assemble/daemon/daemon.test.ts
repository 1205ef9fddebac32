import { expect, test } from 'vitest'
import type { Daemon } from '../../../src/assemble/daemon/daemon.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { parseExposition } from '../../telemetry/metrics/exposition.ts'
import * as faults from '../../simulator/faults.ts'
import { apiOf, daemonWith } from './daemons.ts'

/** Its schedule does not stop. */
function breakStop(daemon: Daemon): void {
  Object.assign(daemon.engine().schedule, {
    async stop() {
      throw new Error('the schedule does not stop')
    },
  })
}

const never = new AbortController().signal

test('a reload is refused where the new configuration cannot be loaded, and else warns as a start does', async () => {
  const { daemon, loaded, names } = daemonWith()
  await daemon.open(never)
  await daemon.start()
  const running = daemon.engine()
  await daemon.reload(() => {
    throw new Error('no file')
  })
  expect(daemon.engine()).toBe(running)
  // One that does not stop is replaced.
  breakStop(daemon)
  await daemon.reload(() => ({ ...loaded, warnings: ['a typing error'] }))
  expect(daemon.engine()).not.toBe(running)
  expect(names()).toEqual(['Started', 'ConfigRefused', 'Warned', 'ConfigReloaded', 'Warned'])
  await daemon.stop()
})

test('a reload during the start is applied after it, and one before a stop is dropped', async () => {
  const { daemon, loaded, names } = daemonWith()
  await daemon.open(never)
  const reloading = daemon.reload(() => loaded)
  await daemon.start()
  await reloading
  expect(names()).toContain('ConfigReloaded')
  await daemon.stop()
  const other = daemonWith()
  const dropped = other.daemon.reload(() => other.loaded)
  await other.daemon.stop()
  await dropped
  expect(other.names()).not.toContain('ConfigReloaded')
})

test('a stop closes everything, also if one part fails to close', async () => {
  const folder = temporaryFolder()
  const { daemon, names } = daemonWith({}, { folder })
  await daemon.open(never)
  breakStop(daemon)
  await daemon.stop()
  expect(names()).toContain('Warned')
  // The lock was given back: another one takes it at once.
  const { daemon: next, names: nextNames } = daemonWith({}, { folder })
  await next.open(never)
  await next.stop()
  expect(nextNames()).toEqual(['Started'])
})

test('configured figures are exported as metrics, which keep their last values while the API fails', async () => {
  const { simulator, api } = await apiOf({ zones: [101] })
  const { daemon, runtime, names } = daemonWith({
    api,
    metrics: { uploadScanning: { everyMinutes: 0.001 }, volumes: { apps: ['shop'], everyMinutes: 0.001 } },
  })
  const families = async () => {
    const all = parseExposition(await runtime.metrics.text())
    return new Map(
      [
        'upload_scanning_files_scanned',
        'upload_scanning_requests',
        'volume_size_bytes',
        'volume_usage_bytes',
      ].map((name) => [name, all.get(`shieldlog_${name}`)!.samples]),
    )
  }
  await daemon.open(never)
  await daemon.start()
  await expect.poll(async () => (await families()).get('volume_usage_bytes')!.length).toBeGreaterThan(0)
  const before = await families()
  expect(before.get('upload_scanning_requests')).toHaveLength(2)
  simulator.fail({ fault: faults.status({ status: 503 }), times: Infinity })
  await expect.poll(() => names().filter((name) => name === 'FiguresFailed').length).toBeGreaterThan(1)
  expect(await families()).toEqual(before)
  await daemon.stop()
})
