import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Daemon } from '../../../src/assemble/daemon/daemon.ts'
import { createGround, type Ground } from '../../../src/assemble/ground.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import { load } from '../../config/loading.ts'
import { temporaryFolder } from '../../setup/temp.ts'

/** A daemon over a store of its own and an API where nobody listens. */
function daemonIn(folder: string, change: (ground: Ground) => Partial<Ground> = () => ({})) {
  const told: InternalEvent[] = []
  const settings = {
    api: { baseUrl: 'http://127.0.0.1:9', accessKey: 'key' },
    zones: [101],
    sinks: [{ name: 'archive', type: 'file', path: join(folder, 'events') }],
    log: { level: 'silent' },
  }
  const loaded = load({ yaml: JSON.stringify(settings), cwd: folder })
  const ground = createGround(loaded.config, { watch: (internalEvent) => told.push(internalEvent) })
  const options = { serve: false, role: 'all', sinkGone: () => undefined } as const
  const daemon = new Daemon(loaded, { ...options, ground: { ...ground, ...change(ground) } })
  return { daemon, loaded, names: () => told.map(({ name }) => name) }
}

const never = new AbortController().signal

test('a reload that fails in the midst goes back to the old configuration, and the next one is taken', async () => {
  let isFailing = false
  const { daemon, loaded, names } = daemonIn(temporaryFolder(), ({ metrics }) => ({
    metrics: {
      ...metrics,
      prepare(known) {
        if (!isFailing) return metrics.prepare(known)
        isFailing = false
        throw new Error('no room')
      },
    },
  }))
  await daemon.open(never)
  await daemon.start()
  isFailing = true
  await daemon.reload(() => loaded)
  expect(names()).toContain('ConfigRefused')
  expect(names()).not.toContain('ConfigReloaded')
  await daemon.reload(() => loaded)
  expect(names()).toContain('ConfigReloaded')
  await daemon.stop()
})

test('a stop closes everything, also where one part fails to close', async () => {
  const folder = temporaryFolder()
  const { daemon, names } = daemonIn(folder)
  await daemon.open(never)
  Object.assign(daemon.engine().schedule, {
    async stop() {
      throw new Error('the schedule does not stop')
    },
  })
  await daemon.stop()
  expect(names()).toContain('Warned')
  // The lock was given back: another one takes it at once.
  const { daemon: next, names: nextNames } = daemonIn(folder)
  await next.open(never)
  await next.stop()
  expect(nextNames()).toEqual(['Started'])
})
