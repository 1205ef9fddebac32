import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import type { DeliveredObject, Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled, Failure } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'
import type { Stream } from '../../domain/stream.ts'
import type { NumberedObjects, OpenStream, Sink, SinkCheck } from '../../ports/delivery.ts'
import type { SinkDeps } from '../deps.ts'
import { joinTexts, mapEvent, type Text } from '../lines.ts'
import type { Bucket, Metadata } from './bucket.ts'
import { digestOf, packCompanion, unpackCompanion } from './companion.ts'
import type { S3SinkConfig } from './config.ts'

export type ObjectSettings = Pick<S3SinkConfig, 'name' | 'prefix' | 'compress' | 'maxBytes' | 'guarantee'>
type ObjectDeps = Pick<SinkDeps, 'format' | 'telemetry'>

/** A bucket that can say whether it does what the sink needs. */
export interface TriedBucket extends Bucket {
  check(signal: AbortSignal): Promise<SinkCheck | undefined>
}

const gzipped = promisify(gzip)
const zstded = promisify(zstdCompress)
const compressions = {
  gzip: { suffix: 'gz', compress: (body: Buffer) => gzipped(body, { level: 1 }) },
  zstd: {
    suffix: 'zst',
    compress: (body: Buffer) => zstded(body, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  },
} as const

type Compression = keyof typeof compressions

/** More than a load has elsewhere: an object should be as large as `maxBytes` allows. */
const mostEvents = 40_000

/** How often an object is sent that is not there afterwards. */
const mostTries = 3

/**
 * Writes each delivery as one object of the next number, only where no object has that number. One that is there
 * already was written by an earlier try: its events are adopted. So each event lies in one object, whoever writes.
 */
export function createObjectSink(settings: ObjectSettings, deps: ObjectDeps, bucket: TriedBucket): Sink {
  const { name, maxBytes } = settings
  let isClosed = false
  return {
    name,
    address: bucket.address,
    load: { bytes: maxBytes, events: mostEvents },
    async open(stream, { objects }) {
      if (isClosed) throw cancelled()
      const writer = new ObjectWriter(settings, deps, bucket, stream, objects)
      return {
        deliver: (events, signal) =>
          isClosed ? Promise.reject(cancelled()) : orAborted(writer.deliver(events, signal), signal),
        close: () => Promise.resolve(),
      } satisfies OpenStream
    },
    check: (signal) => bucket.check(signal),
    async close() {
      isClosed = true
      await bucket.close()
    },
  }
}

/** An object that is about to be written. */
interface Draft {
  readonly events: readonly Event[]
  readonly refusals: readonly Refusal[]
  /** Fewer events fit than were given. */
  readonly isPart: boolean
  readonly lines: readonly Text[]
  readonly bytes: number
}

/** An object that has the number of the one that was to be written, which has this digest. */
interface Found {
  readonly key: string
  readonly objects: NumberedObjects
  readonly number: number
  readonly digest: string
}

/** The objects of one stream. */
class ObjectWriter {
  readonly #settings: ObjectSettings
  readonly #deps: ObjectDeps
  readonly #bucket: Bucket
  readonly #stream: Stream
  readonly #objects: NumberedObjects | undefined
  /** An earlier try may have written the next object. Else a conditional write tells. */
  #looksFirst = true
  /** Of all objects of the stream, once it is known. */
  #compression: Compression | undefined

  constructor(
    settings: ObjectSettings,
    deps: ObjectDeps,
    bucket: Bucket,
    stream: Stream,
    objects: NumberedObjects | undefined,
  ) {
    this.#settings = settings
    this.#deps = deps
    this.#bucket = bucket
    this.#stream = stream
    this.#objects = objects
  }

  async deliver(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    if (signal.aborted) throw cancelled(signal.reason)
    const draft = this.#draftOf(events)
    const { refusals, bytes } = draft
    const partial = draft.isPart ? { partial: { taken: draft.events } } : {}
    if (draft.events.length === 0) return { refusals, committed: [], bytes: 0 }
    if (this.#objects === undefined) {
      await this.#try(draft, signal)
      return { refusals, committed: [], bytes, ...partial }
    }
    const number = this.#objects.last() + 1
    const object = await this.#write(number, draft, this.#objects, signal)
    const { name: sink } = this.#settings
    if (object.adopted === undefined) {
      this.#deps.telemetry.emit({ name: 'ObjectWritten', sink })
      return { refusals, committed: [], bytes, object, ...partial }
    }
    this.#deps.telemetry.emit({ name: 'ObjectAdopted', sink, key: this.#keyOf(this.#objects, number, '') })
    return { refusals: [], committed: [], bytes: 0, object, partial: { taken: [] } }
  }

  /** As many of the events as one object may hold, but at least one. */
  #draftOf(events: readonly Event[]): Draft {
    const [taken, refusals, lines]: [Event[], Refusal[], Text[]] = [[], [], []]
    let bytes = 0
    for (const event of events) {
      const mapped = mapEvent(event, this.#deps.format)
      if ('refusal' in mapped) {
        refusals.push(mapped.refusal)
        continue
      }
      const line = { text: mapped.line, bytes: Buffer.byteLength(mapped.line) }
      if (taken.length > 0 && bytes + line.bytes + 1 > this.#settings.maxBytes)
        return { events: taken, refusals, isPart: true, lines, bytes }
      bytes += line.bytes + 1
      taken.push(event)
      lines.push(line)
    }
    return { events: taken, refusals, isPart: false, lines, bytes }
  }

  /** The object of that number: this one, or that of an earlier try. */
  async #write(
    number: number,
    { events, lines }: Draft,
    objects: NumberedObjects,
    signal: AbortSignal,
  ): Promise<DeliveredObject> {
    const { compress, guarantee, name } = this.#settings
    const isOnce = guarantee === 'exactly-once'
    const compression = isOnce ? await this.#compressionOf(objects, signal) : compress
    const { suffix } = compressions[compression]
    const body = await bodyOf(lines, compression)
    const companion = packCompanion(events)
    const digest = digestOf(companion, body)
    const about = { contentType, metadata: { [digestName]: digest, [sinkName]: name } }
    const written = { number, bytes: body.length }
    if (!isOnce) {
      await this.#ensure(
        this.#keyOf(objects, number, `-${digest.slice(0, 16)}.ndjson.${suffix}`),
        body,
        about,
        signal,
      )
      return written
    }
    const key = this.#keyOf(objects, number, `.ndjson.${suffix}`)
    for (let tried = 0; ; tried++) {
      if (tried > 0 || this.#looksFirst) {
        const found = await this.#bucket.head(key, signal)
        if (found !== undefined) {
          const adopted = await this.#adopt({ key, objects, number, digest }, found.metadata, signal)
          return adopted === undefined ? written : { number, bytes: found.bytes, adopted }
        }
        this.#looksFirst = false
      }
      if (tried === mostTries) throw unanswered(this.#what(key))
      if (tried === 0)
        await this.#ensure(this.#companionKey(objects, number, digest), companion, ofCompanions, signal)
      // An object cannot be taken back: a lost fence, or a store that has lost commits, must show before it is written.
      await objects.confirm()
      if ((await this.#bucket.create(key, body, about, signal)) === 'created') return written
    }
  }

  /**
   * That of the stream's first try, whatever `compress` says since. With another one the same number would have another
   * key, and a late write of an earlier try could fill that one too.
   */
  async #compressionOf({ storeId }: NumberedObjects, signal: AbortSignal): Promise<Compression> {
    const { compress, prefix } = this.#settings
    const key = `${prefix}${companionFolder}${this.#folder}${storeId}-compress`
    for (let tried = 0; this.#compression === undefined; tried++) {
      const text = (await this.#bucket.get(key, signal))?.toString()
      if (text === 'gzip' || text === 'zstd') this.#compression = text
      else if (text !== undefined) {
        const remedy = 'write gzip or zstd into it, as the names of these objects say'
        throw new Failure('stop', 'sink_refuses', `${this.#what(key)} is damaged: ${remedy}`)
      } else if (tried === mostTries) throw unanswered(this.#what(key))
      else if ((await this.#bucket.create(key, Buffer.from(compress), ofTexts, signal)) === 'created')
        this.#compression = compress
    }
    return this.#compression
  }

  /** Creates an object whose key names its content, unless it is there. */
  async #ensure(
    key: string,
    body: Buffer,
    about: { readonly contentType: string; readonly metadata: Metadata },
    signal: AbortSignal,
  ): Promise<void> {
    for (let tried = 0; tried < mostTries; tried++) {
      if ((await this.#bucket.create(key, body, about, signal)) === 'created') return
      if ((await this.#bucket.head(key, signal)) !== undefined) return
    }
    throw unanswered(this.#what(key))
  }

  /** An event that a person sends as a trial is not among the data. */
  async #try({ lines }: Draft, signal: AbortSignal): Promise<void> {
    const { compress, prefix } = this.#settings
    const body = await bodyOf(lines, compress)
    const name = `${digestOf(Buffer.alloc(0), body)}.ndjson.${compressions[compress].suffix}`
    await this.#ensure(`${prefix}${companionFolder}try/${name}`, body, { contentType, metadata: {} }, signal)
  }

  /** Undefined when it is the object that this writer sent; else what it holds. */
  async #adopt(
    { key, objects, number, digest }: Found,
    { [digestName]: theirs, [sinkName]: sink }: Metadata,
    signal: AbortSignal,
  ): Promise<Map<number, Uint8Array> | undefined> {
    const { name } = this.#settings
    const isOwn = sink === name || (sink !== undefined && (await objects.wasNamed(sink)))
    if (theirs === undefined || !/^[\da-f]{64}$/.test(theirs) || !isOwn) {
      const whose = sink === undefined ? 'was not written by shieldlog' : `is of sink ${sink}`
      const remedy = `give sink ${name} another prefix, and keep it for this sink`
      throw new Failure(
        'stop',
        'sink_refuses',
        `${this.#what(key)} has the next number and ${whose}: ${remedy}`,
      )
    }
    if (theirs === digest) return undefined
    const companionKey = this.#companionKey(objects, number, theirs)
    const bytes = await this.#bucket.get(companionKey, signal)
    const held = bytes && unpackCompanion(bytes)
    if (held === undefined) {
      const what = `${this.#what(companionKey)} is ${bytes === undefined ? 'missing' : 'damaged'}`
      const why = `it says which events ${key} holds, which an earlier run wrote and did not record`
      const remedy = 'restore it, or ship to another prefix under another name of the sink'
      throw new Failure('stop', 'sink_refuses', `${what}; ${why}: ${remedy}`)
    }
    this.#looksFirst = true
    return held
  }

  #keyOf(objects: NumberedObjects, number: number, end: string): string {
    return `${this.#settings.prefix}${this.#nameOf(objects, number)}${end}`
  }

  #companionKey(objects: NumberedObjects, number: number, digest: string): string {
    return `${this.#settings.prefix}${companionFolder}${this.#nameOf(objects, number)}-${digest}`
  }

  #nameOf({ storeId }: NumberedObjects, number: number): string {
    return `${this.#folder}${storeId}-${String(number).padStart(6, '0')}`
  }

  get #folder(): string {
    const { zone, day } = this.#stream
    return `zone=${zone}/day=${day}/`
  }

  #what(key: string): string {
    return `sink ${this.#settings.name}: object ${key} in ${this.#bucket.address}`
  }
}

/** Below the prefix. Readers of the data leave out folders whose name begins with an underscore. */
const companionFolder = '_shieldlog/'
const digestName = 'shieldlog-digest'
const sinkName = 'shieldlog-sink'
const contentType = 'application/x-ndjson'
const ofTexts = { contentType: 'text/plain', metadata: {} }
const ofCompanions = { contentType: 'application/octet-stream', metadata: {} }

function bodyOf(lines: readonly Text[], compression: Compression): Promise<Buffer> {
  return compressions[compression].compress(joinTexts(lines, { before: '', between: '\n', after: '\n' }))
}

function unanswered(what: string): Failure {
  return new Failure('retry', 'network', `${what} was sent ${mostTries} times and is not there`)
}
