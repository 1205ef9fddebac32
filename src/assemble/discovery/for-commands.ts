import { createQuietRuntime } from '../quiet-runtime.ts'
import { listAccounts } from './list-zones.ts'
import { storedLists, type Read } from './stored-zones.ts'
import { discoveringIn, withZones } from './with-zones.ts'

/** For commands that read the API and no store: the zones that the API lists. Throws Failure. */
export async function withListedZones<L>(loaded: Read<L>, signal: AbortSignal): Promise<Read<L>> {
  const { config } = loaded
  const accounts = discoveringIn(config)
  if (accounts.length === 0) return loaded
  const runtime = createQuietRuntime()
  const listed = await listAccounts(config, { runtime, accounts }, signal)
  for (const each of listed) if ('failure' in each) throw each.failure
  const found = new Map(listed.map((each) => [each.account, 'zones' in each ? each : { zones: [] }]))
  return { ...loaded, config: withZones(config, found) }
}

/** For commands that work on the store and the API: the zones that a run ships, else those that the API lists. */
export async function withKnownZones<L>(loaded: Read<L>, signal: AbortSignal): Promise<Read<L>> {
  const { config } = loaded
  const accounts = discoveringIn(config)
  if (accounts.length === 0) return loaded
  const lists = await storedLists(config)
  const isKnown = accounts.every(({ name }) => lists.has(name))
  return isKnown ? { ...loaded, config: withZones(config, lists) } : withListedZones(loaded, signal)
}
