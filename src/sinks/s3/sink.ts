import { createHash } from 'node:crypto'
import type { DeliveredObject, Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { minuteOf, packFingerprints } from '../../domain/event/seen.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { createInTurn, orAborted } from '../../domain/promises.ts'
import type { Stream } from '../../domain/stream.ts'
import type { NumberedObjects, OpenStream, Sink, SinkCheck } from '../../ports/delivery.ts'
import type { SinkDeps } from '../deps.ts'
import { compressors, joinTexts, lineOf, type Text } from '../lines.ts'
import type { Created, Metadata, ObjectKind, S3Bucket } from './client.ts'
import type { S3SinkConfig } from './config.ts'

export type ObjectSettings = Pick<S3SinkConfig, 'name' | 'prefix' | 'compress' | 'maxBytes' | 'guarantee'>
type ObjectDeps = Pick<SinkDeps, 'format' | 'telemetry'>

/** A bucket that can say whether it does what the sink needs. */
export interface TriedBucket extends Pick<S3Bucket, 'address' | 'create' | 'head' | 'get' | 'close'> {
  check(signal: AbortSignal): Promise<SinkCheck | undefined>
}

const suffixes = { gzip: 'ndjson.gz', zstd: 'ndjson.zst' }
type Compression = keyof typeof suffixes

/** More than a load has elsewhere: an object should be as large as `maxBytes` allows. */
const mostEvents = 40_000

/** How often an object is sent that is not there afterwards. */
const mostTries = 3

/** Below the prefix. Readers of the data leave out folders whose name begins with an underscore. */
const companionFolder = '_shieldlog/'
const digestName = 'shieldlog-digest'
const sinkName = 'shieldlog-sink'
const contentType = 'application/x-ndjson'
const ofTexts = { contentType: 'text/plain', metadata: {} }
const ofCompanions = { contentType: 'application/octet-stream', metadata: {} }

/**
 * Writes each delivery as one object of the next number, only where no object has that number. One that is there
 * already was written by an earlier try: its events are adopted. So each event lies in one object, whoever writes.
 */
export function createObjectSink(settings: ObjectSettings, deps: ObjectDeps, bucket: TriedBucket): Sink {
  const { name, maxBytes, guarantee } = settings
  const inTurn = createInTurn()
  let isClosed = false
  let isTried = guarantee === 'at-least-once'

  async function check(signal: AbortSignal) {
    const found = await bucket.check(signal)
    isTried = true
    return found
  }

  const checkOnce = async (signal: AbortSignal) => {
    if (!isTried && !signal.aborted) await check(signal)
  }

  return {
    name,
    address: bucket.address,
    load: { bytes: maxBytes, events: mostEvents },
    async open(stream, { objects }) {
      const deliver = createDeliver(settings, deps, bucket, stream, objects)
      const work = async (events: readonly Event[], signal: AbortSignal) => {
        if (isClosed || signal.aborted) throw cancelled(signal.reason)
        // Before the first object of the process.
        if (!isTried) await inTurn(() => checkOnce(signal))
        return await deliver(events, signal)
      }
      return {
        deliver: (events, signal) => orAborted(work(events, signal), signal),
        close: () => Promise.resolve(),
      } satisfies OpenStream
    },
    check,
    async close() {
      isClosed = true
      await bucket.close()
    },
  }
}

/** Delivers to the objects of one stream; without numbers a person tries a sink. */
function createDeliver(
  { name, prefix, compress, maxBytes, guarantee }: ObjectSettings,
  { format, telemetry }: ObjectDeps,
  bucket: TriedBucket,
  { zone, day }: Stream,
  objects: NumberedObjects | undefined,
) {
  const folder = `shield_zone=${zone}/day=${day}/`
  /** An earlier try may have written the next object. Else a conditional write tells; without one, a try that failed. */
  let looksFirst = true
  /** Of all objects of the stream, once it is known. */
  let known: Compression | undefined

  const what = (key: string) => `sink ${name}: object ${key} in ${bucket.address}`
  const refused = (text: string) => new Failure('stop', 'sink_refuses', text)
  const nameOf = ({ storeId }: NumberedObjects, number: number) =>
    `${folder}${storeId}-${String(number).padStart(6, '0')}`

  async function deliver(given: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    const draft = draftOf(given)
    const { events, refusals, bytes, isPart } = draft
    const written = { refusals, committed: [], bytes, ...(isPart && { partial: { taken: events } }) }
    if (events.length === 0) return written
    if (objects === undefined) {
      // An event that a person sends as a trial is not among the data.
      const body = await bodyOf(draft.lines, compress)
      const file = `${digestOf(Buffer.alloc(0), body)}.${suffixes[compress]}`
      const kind = { contentType, metadata: {} }
      await ensure(`${prefix}${companionFolder}try/${file}`, body, kind, signal)
      return written
    }
    const number = objects.last() + 1
    const object = await write(number, draft, objects, signal)
    if (object.adopted === undefined) {
      telemetry.emit({ name: 'ObjectWritten', sink: name })
      return { ...written, object }
    }
    telemetry.emit({ name: 'ObjectAdopted', sink: name, key: prefix + nameOf(objects, number) })
    return { refusals: [], committed: [], bytes: 0, object, partial: { taken: [] } }
  }

  /** As many of the events as one object may hold, but at least one. */
  function draftOf(given: readonly Event[]) {
    const [events, refusals, lines]: [Event[], Refusal[], Text[]] = [[], [], []]
    let bytes = 0
    for (const event of given) {
      const text = lineOf(event, format, refusals)
      if (text === undefined) continue
      const line = { text, bytes: Buffer.byteLength(text) }
      if (events.length > 0 && bytes + line.bytes + 1 > maxBytes)
        return { events, refusals, lines, bytes, isPart: true }
      bytes += line.bytes + 1
      events.push(event)
      lines.push(line)
    }
    return { events, refusals, lines, bytes, isPart: false }
  }

  /** The object of that number: this one, or that of an earlier try. */
  async function write(
    number: number,
    { events, lines }: ReturnType<typeof draftOf>,
    objects: NumberedObjects,
    signal: AbortSignal,
  ): Promise<DeliveredObject> {
    const isOnce = guarantee === 'exactly-once'
    const compression = isOnce ? await compressionOf(objects, signal) : compress
    const body = await bodyOf(lines, compression)
    const companion = packCompanion(events)
    const digest = digestOf(companion, body)
    const own = nameOf(objects, number)
    const written = { number, bytes: body.length }
    // Without a condition a late write of an earlier try must not find the key of other events.
    const key = `${prefix}${own}${isOnce ? '' : `-${digest.slice(0, 16)}`}.${suffixes[compression]}`
    const companionOf = (digest: string) => `${prefix}${companionFolder}${own}-${digest}`
    const create = async (tried: number) => {
      looksFirst = !isOnce
      if (isOnce && tried === 0) await ensure(companionOf(digest), companion, ofCompanions, signal)
      // An object cannot be taken back: a lost fence, or a store that has lost commits, must show before it is written.
      await objects.confirm()
      return await bucket.create(key, body, kindOf(digest), signal)
    }
    const found = await createOrFind(key, create, () => bucket.head(key, signal), looksFirst)
    if (!isOnce) looksFirst = false
    if (found === undefined || !isOnce) return written
    const theirs = await digestIn(key, found.metadata, objects)
    if (theirs === digest) return written
    const adopted = await heldBy(key, companionOf(theirs), signal)
    looksFirst = true
    return { number, bytes: found.bytes, adopted }
  }

  const kindOf = (digest: string) => ({ contentType, metadata: { [digestName]: digest, [sinkName]: name } })

  /**
   * That of the stream's first try, whatever `compress` says since. With another one the same number would have another
   * key, and a late write of an earlier try could fill that one too.
   */
  async function compressionOf({ storeId }: NumberedObjects, signal: AbortSignal): Promise<Compression> {
    if (known !== undefined) return known
    const key = `${prefix}${companionFolder}${folder}${storeId}-compress`
    const create = () => bucket.create(key, Buffer.from(compress), ofTexts, signal)
    const look = async () => (await bucket.get(key, signal))?.toString()
    const text = (await createOrFind(key, create, look, true)) ?? compress
    if (text === 'gzip' || text === 'zstd') return (known = text)
    const remedy = 'write gzip or zstd into it, as the names of these objects say'
    throw refused(`${what(key)} is damaged: ${remedy}`)
  }

  /** Creates an object whose key names its content, unless it is there. */
  async function ensure(key: string, body: Buffer, kind: ObjectKind, signal: AbortSignal): Promise<void> {
    const create = () => bucket.create(key, body, kind, signal)
    await createOrFind(key, create, () => bucket.head(key, signal), guarantee === 'at-least-once')
  }

  /** Creates an object where its key is free. Returns what has the key, or undefined once it is created. */
  async function createOrFind<Found>(
    key: string,
    create: (tried: number) => Promise<Created>,
    look: () => Promise<Found | undefined>,
    looksFirst = false,
  ): Promise<Found | undefined> {
    for (let tried = 0; ; tried++) {
      const found = tried > 0 || looksFirst ? await look() : undefined
      if (found !== undefined) return found
      if (tried === mostTries) {
        const why = `${what(key)} was sent ${mostTries} times and is not there`
        throw new Failure('retry', 'network', why)
      }
      if ((await create(tried)) === 'created') return undefined
    }
  }

  /** The digest of an object of this sink that has the number of the one that was to be written. */
  async function digestIn(key: string, metadata: Metadata, objects: NumberedObjects): Promise<string> {
    const { [digestName]: digest = '', [sinkName]: sink } = metadata
    const isOwn = sink === name || (sink !== undefined && (await objects.wasNamed(sink)))
    if (/^[\da-f]{64}$/.test(digest) && isOwn) return digest
    const whose = sink === undefined ? 'was not written by shieldlog' : `is of sink ${sink}`
    const remedy = `give sink ${name} another prefix, and keep it for this sink`
    throw refused(`${what(key)} has the next number and ${whose}: ${remedy}`)
  }

  /** What an object holds that an earlier try has written, as its companion says. */
  async function heldBy(key: string, companion: string, signal: AbortSignal) {
    const bytes = await bucket.get(companion, signal)
    const held = bytes && unpackCompanion(bytes)
    if (held !== undefined) return held
    const is = `${what(companion)} is ${bytes === undefined ? 'missing' : 'damaged'}`
    const why = `it says which events ${key} holds, which an earlier run wrote and did not record`
    throw refused(`${is}; ${why}: restore it, or ship to another prefix under another name of the sink`)
  }

  return deliver
}

function bodyOf(lines: readonly Text[], compression: Compression): Promise<Buffer> {
  return compressors[compression](joinTexts(lines, { before: '', between: '\n', after: '\n' }))
}

/** Of a minute: the minute (int32) and the number of its fingerprints (uint32), and then these. */
const headBytes = 8
const fingerprintBytes = 8

/** Which events an object holds, as they were when they were seen: the minute of each, and its fingerprint. */
function packCompanion(events: readonly Event[]): Buffer {
  const minutes = Map.groupBy(events, ({ timeMs }) => minuteOf(timeMs))
  const parts = [...minutes].flatMap(([minute, group]) => {
    const head = Buffer.alloc(headBytes)
    head.writeInt32BE(minute, 0)
    head.writeUInt32BE(group.length, 4)
    return [head, packFingerprints(group.map(({ fingerprint }) => fingerprint))]
  })
  return Buffer.concat(parts)
}

/** By minute; undefined for bytes that are no companion. */
function unpackCompanion(bytes: Buffer): Map<number, Uint8Array> | undefined {
  const minutes = new Map<number, Uint8Array>()
  let at = 0
  while (at < bytes.length) {
    if (bytes.length - at < headBytes) return undefined
    const minute = bytes.readInt32BE(at)
    const end = at + headBytes + bytes.readUInt32BE(at + 4) * fingerprintBytes
    if (end > bytes.length || minutes.has(minute)) return undefined
    minutes.set(minute, bytes.subarray(at + headBytes, end))
    at = end
  }
  return minutes
}

/**
 * Identifies an object together with its companion: events that differ only in what is redacted may make the same body.
 */
function digestOf(companion: Buffer, body: Buffer): string {
  return createHash('sha256').update(companion).update(body).digest('hex')
}
