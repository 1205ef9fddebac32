import type * as z from 'zod'
import { Failure } from '../../domain/failure.ts'

/** Parses an answer by a schema. Throws Failure `bad_body` (retry) that names the first thing wrong. */
export function readAs<T>(schema: z.ZodType<T>, body: unknown, what: string): T {
  const { success, data, error } = schema.safeParse(body)
  if (success) return data
  const [issue] = error.issues
  const place = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `
  throw new Failure(
    'retry',
    'bad_body',
    `the ${what} is not as expected: ${place}${issue?.message ?? 'unknown error'}`,
  )
}
