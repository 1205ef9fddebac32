import type { Config } from '../../config/schema/schema.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import { listShieldZones, type ListedZone } from '../../shield/shield-zones.ts'
import type { Backend } from '../backend.ts'
import type { QuietRuntime } from '../quiet-runtime.ts'
import { createReading } from '../reading.ts'

/** The zones of an account, or why they could not be listed. */
export type AccountZones =
  | { readonly account: string; readonly zones: readonly ListedZone[] }
  | { readonly account: string; readonly failure: Failure }

export interface ListOptions {
  readonly runtime: QuietRuntime
  /** The accounts to list; default: all. */
  readonly accounts?: Config['accounts']
  readonly gateOf?: Backend['gateOf']
}

/** Lists the shield zones of accounts. Throws only `cancelled`, and bugs. */
export async function listAccounts(
  config: Config,
  { runtime, accounts = config.accounts, gateOf }: ListOptions,
  signal: AbortSignal,
): Promise<AccountZones[]> {
  const reading = createReading(config, runtime, gateOf)
  try {
    return await Promise.all(
      accounts.map(async ({ name: account }) => {
        try {
          return { account, zones: await listShieldZones(reading.clientOf(account), signal) }
        } catch (failure) {
          if (!isFailure(failure) || failure.kind === 'cancelled') throw failure
          return { account, failure: unlisted(account, failure) }
        }
      }),
    )
  } finally {
    await reading.close()
  }
}

/** Replaces the name of the operation in a failure by what cannot be done. */
export function unlisted(account: string, { kind, code, message, details }: Failure): Failure {
  const why = message.replace(`shield_zones of account ${account}: `, '')
  return new Failure(kind, code, `the zones of account ${account} cannot be listed: ${why}`, details)
}
