import * as z from 'zod'
import { Failure } from '../domain/failure.ts'
import type { ShieldClient } from './client/client.ts'
import { readAs } from './client/read-as.ts'
import { UploadScanningMetrics } from './schema.ts'

/** Reads the upload scanning figures of a zone. Throws Failure. */
export async function readUploadScanning(
  client: ShieldClient,
  zone: number,
  signal: AbortSignal,
): Promise<UploadScanningMetrics> {
  const { value, release } = await client.send(
    {
      operation: 'upload_scanning',
      method: 'GET',
      path: `/shield/metrics/shield-zone/${zone}/upload-scanning`,
      read: (body) => readAs(Answer, body, 'upload scanning metrics').data,
    },
    signal,
  )
  release()
  if (value === null || value === undefined)
    throw new Failure('refuse', 'rejected', `the API holds no upload scanning metrics for zone ${zone}`)
  return value
}

const Answer = z.looseObject({ data: UploadScanningMetrics.nullish() })
