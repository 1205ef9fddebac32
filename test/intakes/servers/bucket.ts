import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { AwsClient } from 'aws4fetch'
import { expect } from 'vitest'
import { tableFor } from '../../../src/formats/registry.ts'
import { readParquet } from '../../../src/sinks/objects/parquet.ts'
import type { ObjectStore } from '../../../src/sinks/objects/store.ts'
import type { TestProcess } from '../../setup/processes.ts'
import type { SinkSettings } from '../intake.ts'

export const bucketKey = { accessKeyId: 'shieldlog-test', secretAccessKey: 'bucket-secret' }

/** A server of the S3 protocol. */
export interface BucketServer {
  readonly name: string
  start(): Promise<{
    readonly url: string
    readonly process: TestProcess
    createBucket(name: string): Promise<void>
    /** The id of an access key that has only these rights in the bucket; its secret is that of `bucketKey`. */
    keyWith(bucket: string, rights: Rights): Promise<string>
  }>
}

/** Each lacks one of the rights that the sink needs. */
export const lackingRights = [
  ['s3:GetObject', 's3:ListBucket'],
  ['s3:PutObject', 's3:ListBucket'],
  ['s3:PutObject', 's3:GetObject'],
] as const
export type Rights = readonly (typeof lackingRights)[number][number][]

/** Makes a bucket in which each object stays for a day, as versions, whoever deletes it. */
export async function createLockedBucket(url: string, name: string): Promise<void> {
  const aws = new AwsClient({ ...bucketKey, service: 's3', region: 'us-east-1', retries: 0 })
  const headers = { 'x-amz-bucket-object-lock-enabled': 'true' }
  const retention = '<Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Days>1</Days></DefaultRetention></Rule>'
  const body = `<ObjectLockConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><ObjectLockEnabled>Enabled</ObjectLockEnabled>${retention}</ObjectLockConfiguration>`
  const digest = createHash('md5').update(body).digest('base64')
  for (const [path, init] of [
    [name, { headers }],
    [`${name}?object-lock`, { body, headers: { 'content-md5': digest } }],
  ] as const) {
    const { ok, status } = await aws.fetch(`${url}/${path}`, { method: 'PUT', ...init })
    if (!ok) throw new Error(`PUT ${path} answered ${status}`)
  }
}

/** How many versions of objects, and how many delete markers, a bucket with versions has. */
export async function versionsIn(
  url: string,
  bucket: string,
): Promise<{ versions: number; markers: number }> {
  const aws = new AwsClient({ ...bucketKey, service: 's3', region: 'us-east-1', retries: 0 })
  const text = await (await aws.fetch(`${url}/${bucket}?versions`)).text()
  return { versions: text.split('<Version>').length - 1, markers: text.split('<DeleteMarker>').length - 1 }
}

export function bucketSink(url: string, bucket: string, changes: SinkSettings = {}): SinkSettings {
  return { type: 's3', bucket, endpoint: url, prefix: 'shield/', ...bucketKey, ...changes }
}

const never = new AbortController().signal

export interface InBucket {
  readonly objects: number
  /** Of the events in them, each as often as it is there. */
  readonly ids: string[]
}

/** How many objects readers find. */
export async function objectsIn(client: ObjectStore): Promise<number> {
  let objects = 0
  for await (const _ of client.list('shield/shield_zone=', never)) objects++
  return objects
}

/** What readers find: all objects below zones and days. */
export async function eventsIn(client: ObjectStore): Promise<InBucket> {
  const ids: string[] = []
  let objects = 0
  for await (const { key } of client.list('shield/shield_zone=', never)) {
    objects++
    const body = (await client.get(key, never))!
    const lines = key.endsWith('.parquet')
      ? (await Array.fromAsync(readParquet(body, tableFor))).flat()
      : gunzipSync(body).toString().trimEnd().split('\n')
    ids.push(...lines.map((line) => (JSON.parse(line) as { id: string }).id))
  }
  return { objects, ids }
}

export function expectEachOnce({ ids }: InBucket, expected: readonly string[]): void {
  expect(ids.length).toBe(new Set(ids).size)
  expect(ids.toSorted()).toEqual(expected.toSorted())
}
