import { TestRunner } from 'vitest'

/** Something that a test opened and that must be gone when the test ends. */
export interface Leftover {
  /** For the failure message: what it is, and how the test should have ended it. */
  readonly what: string
  readonly isLeft: () => boolean
  readonly remove: () => Promise<void>
  /** True: being left is an error of the test. False: it is removed without a word. */
  readonly isFault: boolean
}

interface Owned extends Leftover {
  readonly owner: string | undefined
}

let owned: Owned[] = []

/**
 * Registers with the running test, or with the whole file where no test runs (top level, `beforeAll`) or where it
 * cannot be told which one does (concurrent tests).
 */
export function own(leftover: Leftover): void {
  const test = TestRunner.getCurrentTest()
  owned.push({ ...leftover, owner: test?.concurrent === true ? undefined : test?.id })
}

/**
 * Removes all that belongs to `owner` (undefined: all that is left in this file), the latest first.
 * Returns what should not have been there any more.
 */
export async function removeLeftovers(owner: string | undefined): Promise<readonly string[]> {
  const due = owned.filter((each) => owner === undefined || each.owner === owner).toReversed()
  owned = owned.filter((each) => !due.includes(each))
  const faults: string[] = []
  for (const each of due) {
    if (!each.isLeft()) continue
    if (each.isFault) faults.push(each.what)
    await each.remove()
  }
  return faults
}
