import type { Failure, FailureCode } from '../domain/failure.ts'
import { fewAtOnce } from '../domain/promises.ts'

const accountCodes: readonly FailureCode[] = [
  'unauthorised',
  'network',
  'tls',
  'timeout',
  'server_error',
  'throttled',
]

/** After this many failures of a whole account, and no answer, its other items are left. */
const enoughFailures = 3

/**
 * Works on items of accounts, a few at once. `work` resolves to the failure of an item. Those of an account that does not
 * answer would fail for the same reason: they are left, with its first failure. Rejects with the first error.
 */
export async function fewOfAccounts<Item>(
  items: readonly Item[],
  atOnce: number,
  accountOf: (item: Item) => string,
  work: (item: Item) => Promise<Failure | undefined>,
  leave: (item: Item, failure: Failure) => void = () => undefined,
): Promise<void> {
  const answered = new Set<string>()
  const failures = new Map<string, Failure[]>()
  await fewAtOnce(items, atOnce, async (item) => {
    const account = accountOf(item)
    const before = failures.get(account) ?? []
    if (!answered.has(account) && before.length >= enoughFailures) return leave(item, before[0]!)
    const failure = await work(item)
    if (failure === undefined) answered.add(account)
    else if (accountCodes.includes(failure.code))
      failures.set(account, [...(failures.get(account) ?? []), failure])
  })
}
