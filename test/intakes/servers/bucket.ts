import { gunzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { S3Bucket } from '../../../src/sinks/s3/client.ts'
import type { S3SinkConfig } from '../../../src/sinks/s3/config.ts'
import { load } from '../../config/loading.ts'
import type { SinkSettings } from '../intake.ts'

export const bucketKey = { accessKeyId: 'shieldlog-test', secretAccessKey: 'bucket-secret' }

/** A server of the S3 protocol. */
export interface BucketServer {
  readonly name: string
  start(): Promise<{ readonly url: string; createBucket(name: string): Promise<void> }>
}

export function bucketSink(url: string, bucket: string, changes: SinkSettings = {}): SinkSettings {
  return { type: 's3', bucket, endpoint: url, prefix: 'shield/', ...bucketKey, ...changes }
}

/** The client of such a sink; closed after the test. */
export function bucketClient(sink: SinkSettings): { client: S3Bucket; settings: S3SinkConfig } {
  const yaml = JSON.stringify({ api: { accessKey: 'k' }, zones: [101], sinks: [sink] })
  const settings = load({ yaml }).config.sinks[0] as S3SinkConfig
  const telemetry = { emit: () => undefined }
  const client = new S3Bucket(settings, { clock: systemClock, telemetry, version: '0.0.0' })
  onTestFinished(() => client.close())
  return { client, settings }
}

const never = new AbortController().signal

export interface InBucket {
  readonly objects: number
  /** Of the events in them, each as often as it is there. */
  readonly ids: string[]
}

/** How many objects readers find. */
export async function objectsIn(client: S3Bucket): Promise<number> {
  let objects = 0
  for await (const _ of client.list('shield/zone=', never)) objects++
  return objects
}

/** What readers find: all objects below zones and days. */
export async function eventsIn(client: S3Bucket): Promise<InBucket> {
  const ids: string[] = []
  let objects = 0
  for await (const { key } of client.list('shield/zone=', never)) {
    objects++
    const lines = gunzipSync((await client.get(key, never))!)
      .toString()
      .trimEnd()
      .split('\n')
    ids.push(...lines.map((line) => (JSON.parse(line) as { id: string }).id))
  }
  return { objects, ids }
}
