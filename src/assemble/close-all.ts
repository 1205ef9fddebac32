import { messageOf } from '../domain/failure.ts'

/** Closes all parts in parallel and waits for each, also after one fails; then throws the errors. */
export async function closeTogether(parts: Iterable<{ close(): Promise<unknown> }>): Promise<void> {
  const closed = await Promise.allSettled([...parts].map(async (part) => part.close()))
  const errors = closed.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join('; '))
}
