import { rmSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { isNearlyFull, measureSpace, watchDisks } from '../../src/upkeep/sink-space.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { FileSinkConfig } from '../../src/sinks/file/config.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { smallDisk } from '../setup/small-disk.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'

const hung = '/the/hung/disk'
// No disk can be made to hang on every machine.
vi.mock('node:fs/promises', async (original) => {
  const real = await original<{ readonly stat: (path: string) => Promise<unknown> }>()
  const stat = vi.fn((path: string) => (path === hung ? new Promise(() => {}) : real.stat(path)))
  return { ...real, stat }
})

const gib = 2 ** 30

test.each([
  ['9 % of a large disk', 90 * gib, 1000 * gib, true],
  ['11 % of a large disk', 110 * gib, 1000 * gib, false],
  ['less than 1 GiB of 5 GiB', 0.9 * gib, 5 * gib, true],
  ['most of a disk below 1 GiB', 0.4 * gib, 0.5 * gib, false],
  ['a fifth of a disk below 1 GiB', 0.1 * gib, 0.5 * gib, true],
])('%s is free: nearly full or not', (_, freeBytes, sizeBytes, expected) => {
  expect(isNearlyFull({ freeBytes, sizeBytes })).toBe(expected)
})

test('a disk that does not answer is asked once, and delays no other', async () => {
  const clock = createFakeClock()
  const draft = { api: { accessKey: 'a-key' }, zones: [101], state: 'redis://127.0.0.1' }
  const { state } = loadConfig({ draft, env: {} }).config
  const sinks = Object.entries({ siem: hung, archive: temporaryFolder() }).map(([name, path]) =>
    FileSinkConfig.parse({ type: 'file', name, path }),
  )
  for (let time = 0; time < 2; time++) {
    const measured: string[] = []
    const measure = (name: string, { sink }: Readonly<Record<string, unknown>>, rows: readonly unknown[]) =>
      void measured.push(`${String(sink)} ${name} ${rows.length}`)
    const done = measureSpace({ sinks, state }, { measure }, clock)
    await waitFor(() => measured.length === 2, { what: 'the disk that answers' })
    await clock.advance(2_000)
    await done
    expect(measured.toSorted()).toEqual([
      'archive sink_free_bytes 1',
      'archive sink_size_bytes 1',
      'siem sink_free_bytes 0',
      'siem sink_size_bytes 0',
    ])
  }
  expect(vi.mocked(stat).mock.calls.filter(([path]) => path === hung)).toHaveLength(1)
})

test('a disk that is nearly full is one problem, whatever is written there', async ({ skip }) => {
  const disk = smallDisk(8)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  const files = (name: string, path: string) => ({ name, type: 'file', path })
  const draft = {
    api: { accessKey: 'the-key-of-the-test' },
    zones: [101],
    state: `sqlite:${disk}/shieldlog.db`,
    sinks: [
      files('archive', disk),
      files('later', join(disk, 'not-there-yet')),
      files('other', temporaryFolder()),
    ],
  }
  const fullDisks = watchDisks(loadConfig({ draft, env: {} }).config, systemClock)
  const named = async () => (await fullDisks()).filter(({ text }) => text.includes('archive'))
  expect(await named()).toEqual([])
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(7_600_000))
  const text = 'The disk of file sink archive and the state is nearly full: 0 MB (9 %) are free.'
  expect(await named()).toMatchObject([{ kind: 'disk', sink: 'archive', text }])
  rmSync(join(disk, 'ballast'))
  expect(await named()).toEqual([])
})
