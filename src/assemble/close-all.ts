import { messageOf } from '../domain/failure.ts'

/** Closes the parts in order, also after one fails; then throws the errors. */
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

/** Closes all parts in parallel and waits for each, also after one fails; then throws the errors. */
export async function closeTogether(parts: Iterable<{ close(): Promise<unknown> }>): Promise<void> {
  const closed = await Promise.allSettled([...parts].map(async (part) => part.close()))
  throwAll(closed.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : [])))
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join('; '))
}
