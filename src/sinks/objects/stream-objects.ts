import type { DeliveredObject, Delivery } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { Failure } from '../../domain/failure.ts'
import type { NumberedObjects } from '../../ports/delivery.ts'
import type { SinkDeps } from '../deps.ts'
import { digestOf, packCompanion, unpackCompanion } from './companion.ts'
import { contentTypes, type Draft, draftOf, type Form, formOf, isForm, suffixes } from './form.ts'
import type { ObjectSettings } from './settings.ts'
import type { Created, Metadata, ObjectKind, ObjectStore } from './store.ts'
import type { ZoneDay } from '../../domain/stream.ts'

/** Where the objects of a sink go, and what they are made with. */
export interface Lake extends Pick<SinkDeps, 'format' | 'telemetry'> {
  readonly settings: ObjectSettings
  readonly store: Pick<ObjectStore, 'address' | 'create' | 'head' | 'get'>
}

/** How often an object is sent that is not there afterwards. */
const mostTries = 3

/** Below the prefix. Readers of the data leave out folders whose name begins with an underscore. */
const companionFolder = '_shieldlog/'
const ofTexts = { contentType: 'text/plain', metadata: {} }
const ofCompanions = { contentType: 'application/octet-stream', metadata: {} }

/** A delivery as one object of the next number of its stream. */
export class StreamObjects {
  readonly #lake: Lake
  readonly #numbers: NumberedObjects
  /** `<folder><store>`: the number follows. */
  readonly #series: string
  readonly #isOnce: boolean
  /**
   * Whether an earlier try may have written the next object: then it is looked for before it is sent. Else a conditional
   * write tells; without conditions a try that failed.
   */
  #next: 'perhaps written' | 'free' = 'perhaps written'
  /** The last number that was adopted; 0: none. */
  #adopted = 0
  /** Of all objects of the stream, once it is known. */
  #form: Form | undefined

  constructor(lake: Lake, { zone, day }: ZoneDay, numbers: NumberedObjects) {
    this.#lake = lake
    this.#numbers = numbers
    this.#series = `shield_zone=${zone}/day=${day}/${numbers.storeId}`
    this.#isOnce = lake.settings.guarantee !== 'at-least-once'
  }

  async deliver(given: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    const { settings, format, telemetry } = this.#lake
    const form = await this.#formOf(signal)
    const draft = await draftOf(given, form, format, settings.maxBytes, signal)
    if (draft.events.length === 0) return deliveryOf(draft)
    const number = this.#numbers.last() + 1
    const object = await this.#write(number, form, draft, signal)
    if (object.adopted === undefined) {
      telemetry.emit({ name: 'ObjectWritten', sink: settings.name })
      return { ...deliveryOf(draft), object }
    }
    const about = { sink: settings.name, key: settings.prefix + this.#nameOf(number) }
    telemetry.emit({ name: 'ObjectAdopted', ...about })
    if (this.#adopted > 0 && this.#adopted === number - 1) telemetry.emit({ name: 'StateBehind', ...about })
    this.#adopted = number
    return { refusals: [], committed: [], bytes: 0, object, partial: { taken: [] } }
  }

  #nameOf(number: number): string {
    return `${this.#series}-${String(number).padStart(6, '0')}`
  }

  /** The object of that number: this one, or that of an earlier try. */
  async #write(number: number, form: Form, draft: Draft, signal: AbortSignal): Promise<DeliveredObject> {
    const { settings, store } = this.#lake
    const body = await draft.body()
    const companion = packCompanion(draft.events)
    const digest = digestOf(companion, body)
    const own = this.#nameOf(number)
    const written = { number, bytes: body.length }
    // Without a condition a late write of an earlier try must not find the key of other events.
    const key = `${settings.prefix}${own}${this.#isOnce ? '' : `-${digest.slice(0, 16)}`}.${suffixes[form]}`
    const companionOf = (digest: string) => `${settings.prefix}${companionFolder}${own}-${digest}`
    const metadata = { shieldlogdigest: digest, shieldlogsink: settings.name }
    const create = async (tried: number) => {
      this.#next = this.#isOnce ? 'free' : 'perhaps written'
      if (this.#isOnce && tried === 0)
        await ensure(this.#lake, companionOf(digest), companion, ofCompanions, signal)
      // An object cannot be taken back: a lost fence, or a store that has lost commits, must show before it is written.
      await this.#numbers.confirm()
      return await store.create(key, body, { contentType: contentTypes[form], metadata }, signal)
    }
    const look = () => store.head(key, signal)
    const found = await createOrFind(what(this.#lake, key), create, look, this.#next === 'perhaps written')
    if (!this.#isOnce) this.#next = 'free'
    if (found === undefined || !this.#isOnce) return written
    const theirs = await this.#digestIn(key, found.metadata)
    if (theirs === digest) return written
    const adopted = await this.#heldBy(key, companionOf(theirs), signal)
    this.#next = 'perhaps written'
    return { number, bytes: found.bytes, adopted }
  }

  /**
   * That of the stream's first try, whatever the settings say since. In another form the same number would have another
   * key, and a late write of an earlier try could fill that one too.
   */
  async #formOf(signal: AbortSignal): Promise<Form> {
    const { settings, store } = this.#lake
    const configured = formOf(settings)
    if (!this.#isOnce) return configured
    if (this.#form !== undefined) return this.#form
    const key = `${settings.prefix}${companionFolder}${this.#series}-form`
    const create = () => store.create(key, Buffer.from(configured), ofTexts, signal)
    const look = async () => (await store.get(key, signal))?.toString()
    const text = (await createOrFind(what(this.#lake, key), create, look, true)) ?? configured
    if (isForm(text)) return (this.#form = text)
    const remedy = `write ${Object.keys(suffixes).join(' or ')} into it, as the names of these objects say`
    throw refused(`${what(this.#lake, key)} is damaged: ${remedy}`)
  }

  /** The digest of an object of this sink that has the number of the one that was to be written. */
  async #digestIn(key: string, metadata: Metadata): Promise<string> {
    const { name } = this.#lake.settings
    const { shieldlogdigest: digest = '', shieldlogsink: sink } = metadata
    const isOwn = sink === name || (sink !== undefined && (await this.#numbers.wasNamed(sink)))
    if (/^[\da-f]{64}$/.test(digest) && isOwn) return digest
    const whose = sink === undefined ? 'was not written by shieldlog' : `is of sink ${sink}`
    const remedy = `give sink ${name} another prefix, and keep it for this sink`
    throw refused(`${what(this.#lake, key)} has the next number and ${whose}: ${remedy}`)
  }

  /** What an object holds that an earlier try has written, as its companion says. */
  async #heldBy(key: string, companion: string, signal: AbortSignal) {
    const bytes = await this.#lake.store.get(companion, signal)
    const held = bytes && unpackCompanion(bytes)
    if (held !== undefined) return held
    const is = `${what(this.#lake, companion)} is ${bytes === undefined ? 'missing' : 'damaged'}`
    const why = `it says which events ${key} holds, which an earlier run wrote and did not record`
    throw refused(`${is}; ${why}: restore it, or ship to another prefix under another name of the sink`)
  }
}

/** Delivers events that a person sends as a trial: they are not among the data. */
export async function deliverTrial(
  lake: Lake,
  given: readonly Event[],
  signal: AbortSignal,
): Promise<Delivery> {
  const { settings, format } = lake
  const form = formOf(settings)
  const draft = await draftOf(given, form, format, settings.maxBytes, signal)
  if (draft.events.length === 0) return deliveryOf(draft)
  const body = await draft.body()
  const key = `${settings.prefix}${companionFolder}try/${digestOf(Buffer.alloc(0), body)}.${suffixes[form]}`
  await ensure(lake, key, body, { contentType: contentTypes[form], metadata: {} }, signal)
  return deliveryOf(draft)
}

function deliveryOf({ events, refusals, bytes, isPart }: Draft): Delivery {
  return { refusals, committed: [], bytes, ...(isPart && { partial: { taken: events } }) }
}

/** Creates an object whose key names its content, unless it is there. */
async function ensure(
  lake: Lake,
  key: string,
  body: Buffer,
  kind: ObjectKind,
  signal: AbortSignal,
): Promise<void> {
  const { settings, store } = lake
  const create = () => store.create(key, body, kind, signal)
  const look = () => store.head(key, signal)
  await createOrFind(what(lake, key), create, look, settings.guarantee === 'at-least-once')
}

/** Creates an object where its key is free. Returns what has the key, or undefined once it is created. */
async function createOrFind<Found>(
  what: string,
  create: (tried: number) => Promise<Created>,
  look: () => Promise<Found | undefined>,
  looksFirst: boolean,
): Promise<Found | undefined> {
  for (let tried = 0; ; tried++) {
    const found = tried > 0 || looksFirst ? await look() : undefined
    if (found !== undefined) return found
    if (tried === mostTries) {
      const why = `${what} was sent ${mostTries} times and is not there`
      throw new Failure('retry', 'network', why)
    }
    if ((await create(tried)) === 'created') return undefined
  }
}

function what({ settings, store }: Lake, key: string): string {
  return `sink ${settings.name}: object ${key} in ${store.address}`
}

function refused(text: string): Failure {
  return new Failure('stop', 'sink_refuses', text)
}
