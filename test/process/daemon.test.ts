import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Daemon } from '../../src/process/daemon.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'
import { throttle } from '../simulator/faults.ts'
import { apiOf, daemonWith } from './daemons.ts'

/** Its engine closes with an error. */
function breakClose(daemon: Daemon): void {
  const { close } = daemon.engine()
  Object.assign(daemon.engine(), {
    async close() {
      await close()
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
  breakClose(daemon)
  await daemon.reload(() => ({ ...loaded, warnings: ['a typing error'] }))
  expect(daemon.engine()).not.toBe(running)
  expect(names()).toEqual(['Started', 'ConfigRefused', 'Warned', 'ConfigReloaded', 'Warned'])
  await daemon.stop()
})

test('the first line names a held sink apart from those that are shipped to', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'a-file'), '')
  const sinkOn = (name: string) => ({ name, type: 'file', path: join(folder, name, 'events') })
  for (const [names, text] of [
    [
      ['archive', 'a-file'],
      / ships 1 zone to archive; held: a-file; .* is new: ships 3 days of 1 zone to archive$/,
    ],
    [['a-file'], / ships nothing; held: a-file; state in \S+$/],
  ] as const) {
    const { daemon, logged } = daemonWith({
      sinks: names.map(sinkOn),
      log: { level: 'info', format: 'json' },
    })
    await daemon.open(never)
    expect(logged().map(({ event }) => event)).toEqual(['SinkHeld', 'Started'])
    expect(logged()[1]).toMatchObject({ held: ['a-file'], msg: expect.stringMatching(text) as string })
  }
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
  breakClose(daemon)
  await daemon.stop()
  expect(names()).toContain('Warned')
  // The lock was given back: another one takes it at once.
  const { daemon: next, names: nextNames } = daemonWith({}, { folder })
  await next.open(never)
  await next.stop()
  expect(nextNames()).toEqual(['Started'])
})

test('an account that is always answered 429 delays no zone of another account, with one place for both', async () => {
  const throttled = Array.from({ length: 12 }, (_, index) => 201 + index)
  const { simulator, api } = await apiOf({ zones: [101, ...throttled], accessKey: null, days: 20 })
  for (const zone of throttled) simulator.fail({ match: { zone }, times: Infinity, fault: throttle() })
  const { daemon } = daemonWith({
    api: { baseUrl: api.baseUrl },
    zones: undefined,
    accounts: [
      { name: 'busy', accessKey: 'one', zones: throttled },
      { name: 'calm', accessKey: 'other', zones: [101] },
    ],
    poll: { everySeconds: 0.2 },
    workers: { streams: 1 },
  })
  await daemon.open(never)
  await daemon.start()
  const polls = () => simulator.requests.filter(({ zone }) => zone === 101).length
  await waitFor(() => polls() >= 20, { what: () => `20 polls of the calm zone (${polls()})` })
  // Were its pauses waited for in the place, most of its requests would follow each other.
  const isBusy = simulator.requests.map(({ zone }) => zone !== 101)
  const busy = isBusy.filter(Boolean).length
  const inARow = isBusy.filter((each, index) => each && isBusy[index - 1] === true).length
  expect(busy).toBeGreaterThan(2)
  expect(inARow * 3).toBeLessThan(busy)
})
