import { expect, test } from 'vitest'
import type { Daemon } from '../../../src/assemble/daemon/daemon.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { daemonWith } from './daemons.ts'

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
