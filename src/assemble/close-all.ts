import { messageOf } from '../domain/failure.ts'

/** Closes one part after the other, also those after one that fails; then throws what failed. */
export async function closeInOrder(...parts: readonly (() => Promise<unknown> | undefined)[]): Promise<void> {
  const errors: unknown[] = []
  for (const close of parts) {
    try {
      await close()
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

/** Closes all parts at once and waits for each of them, also where one fails; then throws what failed. */
export async function closeTogether(parts: Iterable<{ close(): Promise<unknown> }>): Promise<void> {
  const closed = await Promise.allSettled([...parts].map(async (part) => part.close()))
  throwAll(closed.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : [])))
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join('; '))
}
