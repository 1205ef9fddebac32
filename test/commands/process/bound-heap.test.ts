import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { projectFolder } from '../../setup/project-folder.ts'

/** Prints the size of the young generation in MiB after a start, and after a load that was followed by a turn. */
const busy = `
import { setImmediate } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
const [folder, how] = process.argv.slice(1)
if (how === 'bounded') (await import(folder + '/bound-heap.ts')).boundHeap()
const old = allocate(100_000)
if (how === 'bounded') (await import(folder + '/give-room.ts')).giveRoomUnderLoad()
const before = mebibytes()
for (let turn = 0; turn < 15; turn++) {
  allocate(200_000)
  await setImmediate()
}
process.stdout.write(JSON.stringify({ before, after: mebibytes() }))

function allocate(count) {
  return Array.from({ length: count }, (_, index) => ({ index }))
}

function mebibytes() {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 1_048_576
}
`

function youngMebibytes(how: 'bounded' | 'unbounded'): { before: number; after: number } {
  const folder = join(projectFolder, 'src/commands/process')
  const args = ['--input-type=module', '-e', busy, folder, how]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as ReturnType<
    typeof youngMebibytes
  >
}

it('keeps the young generation at 2 MiB until the process is collected often, and at 16 MiB from then on', () => {
  const { before, after } = youngMebibytes('bounded')
  expect(before).toBeLessThanOrEqual(2)
  expect(after).toBe(16)
  expect(youngMebibytes('unbounded').after).toBeGreaterThan(16)
})
