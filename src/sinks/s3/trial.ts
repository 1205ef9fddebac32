import { randomUUID } from 'node:crypto'
import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { SinkCheck } from '../../ports/delivery.ts'
import { createInTurn, orAborted } from '../../domain/promises.ts'
import { S3Bucket, type S3Deps } from './client.ts'
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

type Settings = Pick<S3SinkConfig, 'name' | 'prefix' | 'endpoint' | 'guarantee'>
type Trier = Pick<S3Bucket, 'address' | 'tryCreate' | 'head' | 'remove'>

/** The bucket of a sink: it is tried by `check`, and before the first object of a process. */
export function openBucket(settings: S3SinkConfig, deps: S3Deps): TriedBucket {
  const client = new S3Bucket(settings, deps)
  const inTurn = createInTurn()
  let isTried = settings.guarantee === 'at-least-once'
  const check = async (signal: AbortSignal) => {
    const found = await tryBucket(client, settings, signal)
    isTried = true
    return found
  }
  return {
    address: client.address,
    check,
    async create(key, body, about, signal) {
      const first = async () => {
        if (!isTried && !signal.aborted) await check(signal)
      }
      if (!isTried) await orAborted(inTurn(first), signal)
      return client.create(key, body, about, signal)
    },
    head: (key, signal) => client.head(key, signal),
    get: (key, signal) => client.get(key, signal),
    list: (prefix, signal) => client.list(prefix, signal),
    close: () => client.close(),
  }
}

/**
 * Tries a bucket with small objects below `<prefix>_shieldlog/try/`, as the sink will use it: that it creates an object
 * only where the key is free, one of eight at once too, and gives the metadata back. Removes what it wrote where it may.
 * Throws Failure: `sink_refuses` (stop) where the bucket cannot give the guarantee, and what requests throw.
 */
export async function tryBucket(bucket: Trier, settings: Settings, signal: AbortSignal): Promise<SinkCheck> {
  const [first, raced] = ['once', 'race'].map(
    (name) => `${settings.prefix}_shieldlog/try/${randomUUID()}-${name}.txt`,
  ) as [string, string]
  const written = new Set<string>()
  const put = async (key: string, attempt: number) => {
    const text = `Written by a check of shieldlog; may be removed. ${attempt}\n`
    const kind = { contentType: 'text/plain', metadata: { 'shieldlog-try': String(attempt) } }
    const created = await bucket.tryCreate(key, Buffer.from(text), kind, signal)
    if (created !== 'exists') written.add(key)
    return created
  }
  const attemptIn = async (key: string) => (await bucket.head(key, signal))?.metadata['shieldlog-try']
  let failed = false
  try {
    // Needs the rights that looking at a free key needs.
    await attemptIn(first)
    const isCreated = (await put(first, 1)) === 'created' || (await attemptIn(first)) !== undefined
    if (!isCreated)
      throw new Failure('retry', 'server_error', `${what(bucket, settings)} did not create an object`)
    if ((await attemptIn(first)) !== '1')
      throw refused(bucket, settings, 'does not give the metadata of an object back', 'use another service')
    if (settings.guarantee === 'exactly-once') {
      if ((await put(first, 2)) === 'created' || (await attemptIn(first)) !== '1')
        throw refused(
          bucket,
          settings,
          'replaces objects although it is asked to create them only (If-None-Match)',
        )
      const tries = await Promise.all(Array.from({ length: atOnce }, (_, attempt) => put(raced, attempt)))
      const winners = tries.filter((each) => each === 'created').length
      if (winners > 1)
        throw refused(bucket, settings, `let ${winners} of ${atOnce} create one object at the same time`)
      if ((await attemptIn(raced)) === undefined)
        throw new Failure(
          'retry',
          'server_error',
          `${what(bucket, settings)} let none of ${atOnce} create an object`,
        )
    }
  } catch (error) {
    failed = true
    if (isFailure(error, 'sink_refuses') && /answered 501\b/.test(error.message))
      throw refused(bucket, settings, 'does not implement conditional writes (If-None-Match)')
    throw error
  } finally {
    // The error of the trial counts, not that of the removal.
    if (failed) await remove(bucket, written, signal)
  }
  const left = await remove(bucket, written, signal)
  return {
    found:
      settings.guarantee === 'exactly-once'
        ? `created objects only where the key was free, and one of ${atOnce} at once`
        : 'created an object; at-least-once, so events may be there twice',
    ...(left !== undefined && { note: left }),
  }
}

/** What stays and why, for people; undefined where all is removed. */
async function remove(
  bucket: Trier,
  keys: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  let why: string | undefined
  for (const key of keys)
    try {
      await bucket.remove(key, signal)
    } catch (error) {
      if (!isFailure(error)) throw error
      why = messageOf(error)
    }
  if (why === undefined) return undefined
  return `what the check wrote stays in the bucket, and is not needed: ${[...keys].join(', ')} (${why})`
}

function what({ address }: Trier, { name }: Settings): string {
  return `sink ${name} (${address})`
}

function refused(bucket: Trier, settings: Settings, problem: string, remedy?: string): Failure {
  const host = settings.endpoint === null ? '' : new URL(settings.endpoint).hostname
  const service = unable.find(([hosts]) => hosts.test(host))?.[1]
  const who = service === undefined ? '' : ` ${service} is known for it.`
  const instead =
    remedy ??
    `events could be there twice or be lost.${who} Use a service that does, or set guarantee: at-least-once`
  return new Failure('stop', 'sink_refuses', `${what(bucket, settings)} ${problem}: ${instead}`)
}
