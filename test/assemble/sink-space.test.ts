import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isNearlyFull, watchDisks } from '../../src/assemble/sink-space.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { smallDisk } from '../setup/small-disk.ts'
import { temporaryFolder } from '../setup/temp.ts'

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

test('a disk that is nearly full is one problem, whatever is written there', async ({ skip }) => {
  const disk = smallDisk(8)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  const files = (name: string, path: string) => ({ name, type: 'file', path })
  const draft = JSON.stringify({
    api: { accessKey: 'the-key-of-the-test' },
    zones: [101],
    state: `sqlite:${disk}/shieldlog.db`,
    sinks: [
      files('archive', disk),
      files('later', join(disk, 'not-there-yet')),
      files('other', temporaryFolder()),
    ],
  })
  const fullDisks = watchDisks(loadConfig({ draft, env: {} }).config, systemClock)
  const named = async () => (await fullDisks()).filter(({ text }) => text.includes('archive'))
  expect(await named()).toEqual([])
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(7_600_000))
  const text = 'The disk of file sink archive and the state is nearly full: 0 MB (9 %) are free.'
  expect(await named()).toMatchObject([{ kind: 'disk', sink: 'archive', text }])
  rmSync(join(disk, 'ballast'))
  expect(await named()).toEqual([])
})
