import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { projectFolder } from '../../setup/project-folder.ts'

const busy = `
import { getHeapSpaceStatistics } from 'node:v8'
const { boundHeap } = await import(process.argv[1])
if (process.argv[2] === 'bounded') boundHeap()
let kept = []
for (let count = 0; count < 3e6; count++) {
  kept.push({ count })
  if (kept.length === 300_000) kept = []
}
const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
process.stdout.write(String(space_size / 1_048_576))
`

function youngMebibytes(how: 'bounded' | 'unbounded'): number {
  const module = join(projectFolder, 'src/commands/process/bound-heap.ts')
  const args = ['--input-type=module', '-e', busy, module, how]
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

it('keeps the young generation at 16 MiB under any allocation rate', () => {
  expect(youngMebibytes('bounded')).toBe(16)
  expect(youngMebibytes('unbounded')).toBeGreaterThan(16)
})
