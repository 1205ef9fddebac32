import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { realFolder } from '../config/resolve.ts'
import { unresolvedHost } from '../config/complaints.ts'
import type { Config, SinkConfig } from '../config/schema.ts'
import { Failure, isFailure, messageOf } from '../domain/failure.ts'
import { renamedSinks, type RememberedSink, type PlacedSink } from '../domain/remembered-sink.ts'
import { createFormat } from '../formats/registry.ts'
import { keepLatest } from '../domain/promises.ts'
import type { Store } from '../ports/store.ts'
import { otherSinkOn } from '../sinks/file/stored-days.ts'
import type { Runtime } from './runtime.ts'
import { createPreset } from '../sinks/http/presets/registry.ts'
import { addressOf, writesObjects } from '../sinks/stores.ts'

/** Sinks to which nothing may be shipped, each with the reason and the remedy. */
export type HeldSinks = ReadonlyMap<string, string>

type Sinks = Pick<Config, 'sinks'>

/**
 * A sink is held where it looks like one that was renamed, since everything would be shipped to it again, and a file
 * sink where its folder has parts of another sink of the store, since readers would find events twice, or where the
 * folder cannot be read.
 */
export async function heldSinks({ sinks }: Sinks, store: Store): Promise<HeldSinks> {
  const remembered = await store.catalogue.sinks()
  const renamed = renamedSinks(sinks.map(placed), remembered)
  const held = new Map<string, string>()
  for (const sink of sinks) {
    const before = renamed.get(sink.name)
    const why = before === undefined ? await otherParts(sink, remembered, store) : renamedText(before, sink)
    if (why !== undefined) held.set(sink.name, why)
  }
  return held
}

/** Throws a Failure for the first of these sinks that is held. */
export async function refuseHeld(config: Sinks, store: Store, names: readonly string[]): Promise<void> {
  const held = await heldSinks(config, store)
  for (const name of names) {
    const why = held.get(name)
    if (why !== undefined) throw new Failure('refuse', 'store_refuses', `sink ${name}: ${why}`)
  }
}

/** Stores where sinks ship to that are not held: by that a sink is known under another name. */
export async function rememberSinks(
  { sinks }: Sinks,
  store: Store,
  held: HeldSinks = new Map(),
): Promise<void> {
  const remembered = sinks
    .filter(({ name }) => !held.has(name))
    .map(placed)
    .flatMap(({ place, ...sink }) => (place === undefined ? [] : [{ ...sink, place }]))
  await store.catalogue.rememberSinks(remembered)
}

/** A plan is made every second, and a worker asks with each job; looking into the folders of file sinks takes longer. */
const lookEveryMs = 5_000

/** Which sinks a process holds: decided when it begins, and again as long as one is held. */
export class SinkHolds {
  #held: HeldSinks = new Map()
  #isSettled = false
  readonly #look: () => Promise<void>

  constructor(config: Sinks, store: Store, { clock, telemetry }: Pick<Runtime, 'clock' | 'telemetry'>) {
    const look = async () => {
      const before = this.#held
      const held = await heldSinks(config, store)
      await rememberSinks(config, store, held)
      this.#held = held
      this.#isSettled = held.size === 0
      for (const [sink, why] of held) if (!before.has(sink)) telemetry.emit({ name: 'SinkHeld', sink, why })
      for (const sink of before.keys()) if (!held.has(sink)) telemetry.emit({ name: 'SinkReleased', sink })
    }
    this.#look = keepLatest(look, lookEveryMs, clock).read
  }

  get held(): HeldSinks {
    return this.#held
  }

  /** Call it before anything is planned. Throws the Failures of a store. */
  async refresh(): Promise<void> {
    if (!this.#isSettled) await this.#look()
  }
}

/** Whether this process knows where a sink ships to: its address may come from an environment that it lacks. */
export function hasPlace(sink: SinkConfig): boolean {
  return placed(sink).place !== undefined
}

function placed(sink: SinkConfig): PlacedSink {
  const { name, type } = sink
  const place = placeOf(sink)
  return { name, type, place: place.includes(unresolvedHost) ? undefined : place }
}

/** Of a URL the path is hashed, since it may contain a token, and the query left out. */
function placeOf(sink: SinkConfig): string {
  if (sink.type === 'file') return realFolder(resolve(sink.path))
  if (sink.type === 'syslog') return `${sink.host.toLowerCase()}:${sink.port}`
  if (sink.type === 'kafka') return `${sink.brokers.toSorted().join()} ${sink.topic}`
  if (writesObjects(sink)) return addressOf(sink)
  if (sink.type === 'stdout') return 'stdout'
  const { origin, pathname } = new URL(createPreset(sink, createFormat(sink)).url)
  return `${origin} ${createHash('sha256').update(pathname).digest('hex').slice(0, 16)}`
}

/** What of a sink must differ, where readers would find events twice in one place. */
export function separatedBy(sink: SinkConfig): 'path' | 'prefix' | undefined {
  if (sink.type === 'file') return 'path'
  return writesObjects(sink) ? 'prefix' : undefined
}

function renamedText(before: string, sink: SinkConfig): string {
  const { name } = sink
  const place = separatedBy(sink)
  const again =
    place === undefined
      ? `to ship everything again: \`shieldlog state new-sink ${name}\``
      : `set another ${place}`
  return `nothing is shipped to it: sink ${before} had the same ${place ?? 'address'} and is no longer configured. If it was renamed, stop shieldlog and run \`shieldlog state rename-sink ${before} ${name}\`; if ${name} is a new sink, ${again}`
}

async function otherParts(
  sink: SinkConfig,
  remembered: readonly RememberedSink[],
  store: Store,
): Promise<string | undefined> {
  if (sink.type !== 'file') return undefined
  const formerly = remembered.find(({ name }) => name === sink.name)?.formerly ?? []
  const own = { store: store.id, names: [sink.name, ...formerly] }
  try {
    const other = await otherSinkOn(sink.path, own)
    if (other === undefined) return undefined
    return `nothing is shipped to it: ${sink.path} has files of sink ${other} of the same state, and readers would find events twice. Set another path for ${sink.name}`
  } catch (error) {
    // A folder that cannot be read concerns this sink only.
    if (!isFailure(error)) throw error
    return `nothing is shipped to it: ${messageOf(error)}`
  }
}
