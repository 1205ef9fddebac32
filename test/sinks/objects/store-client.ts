import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { S3SinkConfig } from '../../../src/sinks/s3/config.ts'
import type { ObjectStore } from '../../../src/sinks/objects/store.ts'
import { openStore, type StoreConfig } from '../../../src/sinks/stores.ts'
import { load } from '../../config/loading.ts'
import { keepInternalEvents } from '../internal-events.ts'

/** The store of such a sink, one of S3 unless it has a type, without a back-off; closed after the test. */
export function storeClient<Settings extends StoreConfig = S3SinkConfig>(
  sink: object,
  changes: Partial<Settings> = {},
) {
  const { internalEvents, telemetry } = keepInternalEvents()
  const sinks = [{ name: 'lake', type: 's3', ...sink }]
  const { config } = load({ yaml: JSON.stringify({ api: { accessKey: 'k' }, zones: [101], sinks }) })
  const settings = { ...(config.sinks[0] as Settings), ...changes }
  const client = openStore(settings, { clock: systemClock, telemetry, version: '1.2.3', random: () => 0 })
  onTestFinished(() => client.close())
  return { client, settings, internalEvents }
}

const never = new AbortController().signal

/** The keys of all objects whose keys begin so. */
export async function listed(client: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of client.list(prefix, never)) keys.push(key)
  return keys
}
