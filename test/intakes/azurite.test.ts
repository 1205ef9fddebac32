import { test } from 'vitest'
import type { AzureBlobSinkConfig } from '../../src/sinks/azure-blob/config.ts'
import { sasOf, startAzurite } from '../setup/azurite.ts'
import { storeClient } from '../sinks/objects/store-client.ts'
import { expectOnceDespiteKills, shippers } from './kills.ts'

test.each(shippers)(
  'a container has each event once although the shippers were killed again and again: %s',
  async (_what, kills, redis) => {
    const { key, ...given } = await (await startAzurite()).freshContainer()
    // They may not overwrite.
    const sink = { ...given, sas: sasOf(given.container, 'rcl'), everySeconds: 0.2, maxBytes: 65_536 }
    const { client } = storeClient<AzureBlobSinkConfig>({ ...given, key })
    await expectOnceDespiteKills(sink, client, kills, redis)
  },
  1_800_000,
)
