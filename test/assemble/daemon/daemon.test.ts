import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Daemon } from '../../../src/assemble/daemon/daemon.ts'
import { createRuntime, type Runtime } from '../../../src/assemble/runtime.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import { load } from '../../config/loading.ts'
import { startSimulator } from '../../../src/simulator/simulator.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { parseExposition } from '../../telemetry/metrics/exposition.ts'
import * as faults from '../../simulator/faults.ts'

/** A daemon over a store of its own and an API where nobody listens. */
function daemonIn(
  folder: string,
  change: (runtime: Runtime) => Partial<Runtime> = () => ({}),
  more: Readonly<Record<string, unknown>> = {},
) {
  const told: InternalEvent[] = []
  const settings = {
    api: { baseUrl: 'http://127.0.0.1:9', accessKey: 'key' },
    zones: [101],
    sinks: [{ name: 'archive', type: 'file', path: join(folder, 'events') }],
    log: { level: 'silent' },
    ...more,
  }
  const loaded = load({ yaml: JSON.stringify(settings), cwd: folder })
  const runtime = createRuntime(loaded.config, { watch: (internalEvent) => told.push(internalEvent) })
  const options = { serve: false, role: 'all', sinkGone: () => undefined } as const
  const daemon = new Daemon(loaded, { ...options, runtime: { ...runtime, ...change(runtime) } })
  return { daemon, loaded, runtime, names: () => told.map(({ name }) => name) }
}

/** Its schedule does not stop. */
function breakStop(daemon: Daemon): void {
  Object.assign(daemon.engine().schedule, {
    async stop() {
      throw new Error('the schedule does not stop')
    },
  })
}

const never = new AbortController().signal

test('a reload is refused where the new configuration cannot be loaded or started, and the old one stays in force', async () => {
  let failures = 0
  const { daemon, loaded, names } = daemonIn(temporaryFolder(), ({ metrics }) => ({
    metrics: {
      ...metrics,
      prepare(known) {
        if (failures-- > 0) throw new Error('no room')
        metrics.prepare(known)
      },
    },
  }))
  await daemon.open(never)
  await daemon.start()
  const running = daemon.engine()
  await daemon.reload(() => {
    throw new Error('no file')
  })
  expect(daemon.engine()).toBe(running)
  failures = 1
  await daemon.reload(() => loaded)
  expect(names().slice(1)).toEqual(['ConfigRefused', 'ConfigRefused'])
  // The old one does not start either: nothing is shipped until the next reload.
  failures = 2
  await daemon.reload(() => loaded)
  expect(names().slice(3)).toEqual(['ConfigRefused', 'Warned'])
  breakStop(daemon)
  await daemon.reload(() => loaded)
  expect(names().slice(5)).toEqual(['Warned', 'ConfigReloaded'])
  await daemon.stop()
})

test('a reload during the start is applied after it, and one before a stop is dropped', async () => {
  const { daemon, loaded, names } = daemonIn(temporaryFolder())
  await daemon.open(never)
  const reloading = daemon.reload(() => loaded)
  await daemon.start()
  await reloading
  expect(names()).toContain('ConfigReloaded')
  await daemon.stop()
  const other = daemonIn(temporaryFolder())
  const dropped = other.daemon.reload(() => other.loaded)
  await other.daemon.stop()
  await dropped
  expect(other.names()).not.toContain('ConfigReloaded')
})

test('a reload warns as a start does', async () => {
  const folder = temporaryFolder()
  const { daemon, loaded, names } = daemonIn(folder)
  await daemon.open(never)
  await daemon.start()
  expect(names()).not.toContain('Warned')
  await daemon.reload(() => ({ ...loaded, config: { ...loaded.config }, warnings: ['a typing error'] }))
  expect(names()).toContain('Warned')
  await daemon.stop()
})

test('a stop closes everything, also if one part fails to close', async () => {
  const folder = temporaryFolder()
  const { daemon, names } = daemonIn(folder)
  await daemon.open(never)
  breakStop(daemon)
  await daemon.stop()
  expect(names()).toContain('Warned')
  // The lock was given back: another one takes it at once.
  const { daemon: next, names: nextNames } = daemonIn(folder)
  await next.open(never)
  await next.stop()
  expect(nextNames()).toEqual(['Started'])
})

test('configured figures are exported as metrics, which keep their last values while the API fails', async () => {
  const simulator = await startSimulator({ accessKey: 'key', zones: [101] })
  onTestFinished(() => simulator.close())
  const { daemon, runtime, names } = daemonIn(temporaryFolder(), undefined, {
    api: { baseUrl: simulator.url, accessKey: 'key' },
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
