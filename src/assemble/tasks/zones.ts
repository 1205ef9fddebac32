import type { Config } from '../../config/schema/schema.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'
import { listAccounts, type AccountZones } from '../discovery/list-zones.ts'
import { createQuietRuntime } from '../quiet-runtime.ts'

export type { AccountZones, ListedZone }

/** Lists the shield zones of every account. Throws only `cancelled`, and bugs. */
export function listZones(config: Config, signal: AbortSignal): Promise<AccountZones[]> {
  return listAccounts(config, { runtime: createQuietRuntime() }, signal)
}
