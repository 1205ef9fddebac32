import type { Config } from '../../config/schema/schema.ts'
import type { ShieldClient } from '../../shield/client/client.ts'
import { updateRateLimit, type RateLimitOutcome } from '../../shield/rate-limit.ts'
import { readUploadScanning, type UploadScanningMetrics } from '../../shield/upload-scanning.ts'
import { listVolumes, type Volumes } from '../../shield/volumes.ts'
import { createQuietRuntime } from '../quiet-runtime.ts'
import { createReading } from '../reading.ts'

// What commands need to show a request or an answer without the API.
export { errorsInUpdate, rateLimitRequest } from '../../shield/rate-limit.ts'
export { nameOf } from '../../shield/rules/enumerations.ts'
export { rateLimitUpdateJsonSchema } from '../../shield/rules/update-schema.ts'
export { uploadDays } from '../../shield/upload-scanning.ts'
export { stateOf } from '../../shield/volumes.ts'
export type { RateLimitOutcome, UploadScanningMetrics, Volumes }
export type { RateLimitRequest } from '../../shield/rate-limit.ts'
export type { NotShown } from '../../shield/rules/not-shown.ts'
export type { RateLimitRule } from '../../shield/rules/rule.ts'
export type { UploadDay } from '../../shield/upload-scanning.ts'
export type { VolumeInstance, VolumeTemplate } from '../../shield/volumes.ts'

/** The operations of the API besides event logs, for one account. All throw Failure. */
export interface Operations {
  updateRateLimit(id: number, update: unknown, signal: AbortSignal): Promise<RateLimitOutcome>
  readUploadScanning(zone: number, signal: AbortSignal): Promise<UploadScanningMetrics>
  listVolumes(app: string, signal: AbortSignal): Promise<Volumes>
}

export function createOperations(config: Config, account: string): Operations {
  async function withClient<T>(use: (client: ShieldClient) => Promise<T>): Promise<T> {
    const reading = createReading(config, createQuietRuntime())
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
