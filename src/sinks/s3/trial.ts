import { randomUUID } from 'node:crypto'
import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { SinkCheck } from '../../ports/delivery.ts'
import { createBucket, type S3Bucket, type S3Deps } from './client.ts'
import type { S3SinkConfig } from './config.ts'
import type { TriedBucket } from './sink.ts'

/** Services that do not create an object only where its key is free, by their addresses. */
const unable: readonly (readonly [RegExp, string])[] = [
  [/\.backblazeb2\.com$/, 'Backblaze B2'],
  [/(?:^|\.)storage\.googleapis\.com$/, 'The S3 interface of Google Cloud Storage'],
  [/\.oraclecloud\.com$/, 'Oracle Cloud'],
  [/\.digitaloceanspaces\.com$/, 'DigitalOcean Spaces'],
  [/\.your-objectstorage\.com$/, 'Hetzner Object Storage'],
]
const atOnce = 8

/** The bucket of a sink: it is tried by `check`, and before the first object of a process. */
export function openBucket(settings: S3SinkConfig, deps: S3Deps): TriedBucket {
  const bucket = createBucket(settings, deps)
  return { ...bucket, check: (signal) => tryBucket(bucket, settings, signal) }
}

/**
 * Tries a bucket with small objects below `<prefix>_shieldlog/try/`, as the sink will use it: that it creates an object
 * only where the key is free, one of eight at once too, and gives the metadata back. Removes what it wrote where it may.
 * Throws Failure: `sink_refuses` (stop) where the bucket cannot give the guarantee, and what requests throw.
 */
export async function tryBucket(
  bucket: S3Bucket,
  { name, prefix, endpoint, guarantee }: S3SinkConfig,
  signal: AbortSignal,
): Promise<SinkCheck> {
  const isOnce = guarantee === 'exactly-once'
  const keyOf = (use: string) => `${prefix}_shieldlog/try/${randomUUID()}-${use}.txt`
  const [first, raced] = [keyOf('once'), keyOf('race')]
  const what = `sink ${name} (${bucket.address})`
  const written = new Set<string>()

  async function put(key: string, attempt: number) {
    const text = `Written by a check of shieldlog; may be removed. ${attempt}\n`
    const kind = { contentType: 'text/plain', metadata: { 'shieldlog-try': String(attempt) } }
    const created = await bucket.create(key, Buffer.from(text), kind, signal)
    if (created !== 'exists') written.add(key)
    return created
  }

  const attemptIn = async (key: string) => (await bucket.head(key, signal))?.metadata['shieldlog-try']
  const failed = (problem: string) => new Failure('retry', 'server_error', `${what} ${problem}`)
  const refused = (problem: string, remedy = otherServiceThan(endpoint)) =>
    new Failure('stop', 'sink_refuses', `${what} ${problem}: ${remedy}`)

  async function tryConditions(): Promise<void> {
    if ((await put(first, 2)) === 'created' || (await attemptIn(first)) !== '1')
      throw refused('replaces objects although it is asked to create them only (If-None-Match)')
    const tries = await Promise.all(Array.from({ length: atOnce }, (_, attempt) => put(raced, attempt)))
    const winners = tries.filter((each) => each === 'created').length
    if (winners > 1) throw refused(`let ${winners} of ${atOnce} create one object at the same time`)
    if ((await attemptIn(raced)) === undefined) throw failed(`let none of ${atOnce} create an object`)
  }

  let left: string | undefined
  try {
    // Needs the rights that looking at a free key needs; unlike that to a HEAD, its answer says what is wrong.
    await bucket.get(first, signal)
    const isCreated = (await put(first, 1)) === 'created' || (await attemptIn(first)) !== undefined
    if (!isCreated) throw failed('did not create an object')
    if ((await attemptIn(first)) !== '1')
      throw refused('does not give the metadata of an object back', 'use another service')
    if (isOnce) await tryConditions()
  } catch (error) {
    if (isFailure(error, 'sink_refuses') && /answered 501\b/.test(error.message))
      throw refused('does not implement conditional writes (If-None-Match)')
    throw error
  } finally {
    // The error of the trial counts, not that of a removal.
    left = await remove(bucket, written, signal)
  }
  return {
    found: isOnce
      ? `created objects only where the key was free, and one of ${atOnce} at once`
      : 'created an object; at-least-once, so events may be there twice',
    ...(left !== undefined && { note: left }),
  }
}

function otherServiceThan(endpoint: string | null): string {
  const host = URL.parse(endpoint ?? '')?.hostname ?? ''
  const service = unable.find(([hosts]) => hosts.test(host))?.[1]
  const who = service === undefined ? '' : ` ${service} is known for it.`
  return `events could be there twice or be lost.${who} Use a service that does, or set guarantee: at-least-once`
}

/** What stays and why, for people; undefined where all is removed. */
async function remove(
  bucket: S3Bucket,
  keys: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  let why: string | undefined
  for (const key of keys) await bucket.remove(key, signal).catch((error: unknown) => (why = messageOf(error)))
  if (why === undefined) return undefined
  return `what the check wrote stays in the bucket, and is not needed: ${[...keys].join(', ')} (${why})`
}
