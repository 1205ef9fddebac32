import type { Config } from '../../config/schema/schema.ts'
import type { ShieldClient } from '../../shield/client/client.ts'
import { updateRateLimit, type RateLimitOutcome } from '../../shield/rate-limit.ts'
import { readUploadScanning } from '../../shield/upload-scanning.ts'
import { listVolumes, type Volumes } from '../../shield/volumes.ts'
import { createQuietGround } from '../quiet-ground.ts'
import { createReading } from '../reading.ts'

/** The operations of the API besides event logs, for one account. All throw Failure. */
export interface Operations {
  updateRateLimit(id: number, update: unknown, signal: AbortSignal): Promise<RateLimitOutcome>
  readUploadScanning(zone: number, signal: AbortSignal): Promise<unknown>
  listVolumes(app: string, signal: AbortSignal): Promise<Volumes>
}

export function createOperations(config: Config, account: string): Operations {
  async function withClient<T>(use: (client: ShieldClient) => Promise<T>): Promise<T> {
    const reading = createReading(config, createQuietGround())
    try {
      return await use(reading.clientOf(account))
    } finally {
      await reading.close()
    }
  }
  return {
    updateRateLimit: (id, update, signal) =>
      withClient((client) => updateRateLimit(client, id, update, signal)),
    readUploadScanning: (zone, signal) => withClient((client) => readUploadScanning(client, zone, signal)),
    listVolumes: (app, signal) => withClient((client) => listVolumes(client, app, signal)),
  }
}
