// Loaded before every test file: removes what the tests opened, and fails those that left a process running.
import { afterAll, afterEach } from 'vitest'
import { removeLeftovers } from './leftovers.ts'

// A worker whose run was ended by a signal would go on with its test for as long as that takes. It may take many files.
const isTold = Symbol.for('shieldlog: ends with its run')
if (!Reflect.has(process, isTold)) process.once('disconnect', () => process.exit(1))
Reflect.set(process, isTold, true)

afterEach(async ({ task }) => {
  const faults = await removeLeftovers(task.id)
  // A test that failed half way could not clean up; one failure is enough.
  if (task.result?.state !== 'fail') refuse(faults)
})

afterAll(async () => {
  refuse(await removeLeftovers(undefined))
})

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(`left running (now killed):\n  ${faults.join('\n  ')}`)
}
