import type { Config } from '../../config/schema/schema.ts'
import { isFailure, type Failure } from '../../domain/failure.ts'
import { listShieldZones, type ListedZone } from '../../shield/shield-zones.ts'
import { createQuietGround } from '../quiet-ground.ts'
import { createReading } from '../reading.ts'

export type { ListedZone }

/** The zones of an account, or why they could not be listed. */
export type AccountZones =
  | { readonly account: string; readonly zones: readonly ListedZone[] }
  | { readonly account: string; readonly failure: Failure }

/** Lists the shield zones of every account. Throws only `cancelled`, and bugs. */
export async function listZones(config: Config, signal: AbortSignal): Promise<AccountZones[]> {
  const reading = createReading(config, createQuietGround())
  try {
    return await Promise.all(
      config.accounts.map(async ({ name: account }) => {
        try {
          return { account, zones: await listShieldZones(reading.clientOf(account), signal) }
        } catch (failure) {
          if (!isFailure(failure) || failure.kind === 'cancelled') throw failure
          return { account, failure }
        }
      }),
    )
  } finally {
    await reading.close()
  }
}
