import * as z from 'zod'
import { Failure } from '../domain/failure.ts'
import type { ShieldClient } from './client/client.ts'

const count = z.number().nullish()

/** One day of the map. Public clients know these fields; the description of the interface leaves the map open. */
const Day = z.looseObject({ filesScanned: count, loggedRequests: count, blockedRequests: count })

/** Figures of the past 28 days, each field as received; the map has one entry a day. */
const UploadScanningMetrics = z.looseObject({
  overviewPastTwentyEightDays: z.record(z.string(), z.unknown()).nullish(),
  totalLoggedRequests: count,
  totalBlockedRequests: count,
  totalFilesScanned: count,
})
export type UploadScanningMetrics = z.output<typeof UploadScanningMetrics>

/** `error` is an envelope that the client has looked at: one with a message or a key is a failure. */
const Answer = z.looseObject({ data: UploadScanningMetrics.nullish(), error: z.unknown().optional() })

interface UploadDay {
  /** `YYYY-MM-DD` where the key of the map is a date; else the key. */
  readonly day: string
  readonly filesScanned: number | undefined
  readonly loggedRequests: number | undefined
  readonly blockedRequests: number | undefined
}

/** Reads the upload scanning figures of a zone. Throws Failure. */
export async function readUploadScanning(
  client: ShieldClient,
  zone: number,
  signal: AbortSignal,
): Promise<UploadScanningMetrics> {
  const path = `/shield/metrics/shield-zone/${zone}/upload-scanning`
  const { data: value } = await client.get('upload_scanning', path, Answer, signal)
  if (value === null || value === undefined)
    throw new Failure('refuse', 'rejected', `the API has no upload scanning metrics for zone ${zone}`)
  return value
}

/** The days of the map, the oldest first; keys that are not dates stand last. */
export function uploadDays({ overviewPastTwentyEightDays: days }: UploadScanningMetrics): UploadDay[] {
  const read = Object.entries(days ?? {}).map(([key, value]) => {
    const date = /^\d{4}-\d{2}-\d{2}(?=$|T)/.exec(key)?.[0]
    const { success, data } = Day.safeParse(value)
    const of = (figure: number | null | undefined) => (success ? (figure ?? undefined) : undefined)
    return {
      order: date ?? '~',
      day: {
        day: date ?? key,
        filesScanned: of(data?.filesScanned),
        loggedRequests: of(data?.loggedRequests),
        blockedRequests: of(data?.blockedRequests),
      },
    }
  })
  return read.toSorted((one, other) => (one.order < other.order ? -1 : 1)).map(({ day }) => day)
}
