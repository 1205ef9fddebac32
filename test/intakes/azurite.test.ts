import { beforeAll, describe } from 'vitest'
import type { AzureBlobSinkConfig } from '../../src/sinks/azure-blob/config.ts'
import { type Azurite, sasOf, startAzurite } from '../setup/azurite.ts'
import { storeClient } from '../sinks/objects/store-client.ts'
import { testExactlyOnce } from './kills.ts'

describe('Azurite', () => {
  let azurite: Azurite
  beforeAll(async () => {
    azurite = await startAzurite()
  })

  testExactlyOnce(
    async () => {
      const { key, ...given } = await azurite.freshContainer()
      const { client } = storeClient<AzureBlobSinkConfig>({ ...given, key })
      // The shippers may not overwrite.
      return { sink: { ...given, sas: sasOf(given.container, 'rcl') }, client }
    },
    () => azurite.process,
  )
})
