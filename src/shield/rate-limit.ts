import type { JsonObject } from '../domain/event/event.ts'
import { Failure } from '../domain/failure.ts'
import type { ShieldClient } from './client/client.ts'
import { readAs } from './client/read-as.ts'
import { AcceptedResult, RateLimitRule, RateLimitUpdate } from './schema.ts'

/** `accepted`: the API took the request without returning the rule; the caller must read the rule again. */
export type RateLimitOutcome =
  | { readonly outcome: 'updated'; readonly rule: RateLimitRule }
  | { readonly outcome: 'accepted'; readonly answer: JsonObject }

/**
 * Changes a rate limit rule. The request is sent once and never repeated: after a lost answer nobody knows whether the
 * rule changed. Throws Failure `rejected` (refuse), without a request, for an id or a body that the API cannot take.
 */
export async function updateRateLimit(
  client: ShieldClient,
  id: number,
  update: unknown,
  signal: AbortSignal,
): Promise<RateLimitOutcome> {
  if (!Number.isInteger(id) || id < 0 || id > 2_147_483_647)
    throw refused(`id: ${String(id)} is no rule id; allowed: a whole number up to 2147483647`)
  const { value, release } = await client.send(
    {
      operation: 'rate_limit',
      method: 'PATCH',
      path: `/shield/rate-limit/${id}`,
      body: JSON.stringify(parseRateLimitUpdate(update)),
      read: readOutcome,
    },
    signal,
  )
  release()
  return value
}

/** Validates the body of an update. Throws Failure (refuse) that names each wrong field and what is allowed. */
export function parseRateLimitUpdate(update: unknown): RateLimitUpdate {
  const { success, data, error } = RateLimitUpdate.safeParse(update, { reportInput: true })
  if (success) return data
  throw refused(error.issues.flatMap(problemsOf).join('; '))
}

function problemsOf(issue: RateLimitIssue): string[] {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${[...path, key].join('.')}: no such field; remove it`)
  const field = path.length === 0 ? 'the body' : path.join('.')
  const value = JSON.stringify(issue.input)?.slice(0, 60) ?? 'nothing'
  const allowed = issue.code === 'invalid_value' ? issue.values.join(', ') : issue.message
  return [`${field}: ${value} is not allowed; allowed: ${allowed}`]
}

type RateLimitIssue = NonNullable<ReturnType<typeof RateLimitUpdate.safeParse>['error']>['issues'][number]

function refused(why: string): Failure {
  return new Failure('refuse', 'rejected', why)
}

/** The client throws for a 202 with an error; a 202 without one counts as accepted only with content. */
function readOutcome(body: unknown, status: number): RateLimitOutcome {
  if (status !== 202) return { outcome: 'updated', rule: readAs(RateLimitRule, body, 'rate limit rule') }
  const { success, data } = AcceptedResult.safeParse(body)
  if (success && Object.keys(data).length > 0) return { outcome: 'accepted', answer: body as JsonObject }
  throw refused('the API answered 202 without a result; whether the rule changed is not known, read it again')
}
