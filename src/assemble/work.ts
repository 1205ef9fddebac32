import type { Config } from '../config/schema.ts'
import { listZones, type AccountZones } from '../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../discovery/with-zones.ts'
import type { Holder, Store } from '../ports/store.ts'
import { withHeartbeat } from '../pump/session.ts'
import type { Backend } from './daemon/backend.ts'
import { createHolder, createQuietRuntime, type QuietRuntime } from './quiet-runtime.ts'
import { createReading, type Reading } from './reading.ts'
import type { Shipping, ShippingOver } from './shipping.ts'
import { fleetState, openEmptyStore, openExistingStore, openStore } from './state.ts'

/** What a command needs to be open, besides what it asks a `Work` for. */
interface Needs {
  /** `existing`: the store that there is, else an empty one in memory; `created`: also makes one. */
  readonly store?: 'existing' | 'created'
  /**
   * The zones of accounts that discover theirs. `stored`: those that a run ships, and none of an account that no run has
   * listed; `known`: the same, else those that the API lists; `listed`: those that the API lists.
   */
  readonly zones?: 'stored' | 'known' | 'listed'
  /** Requests count against the budgets that the processes of a fleet share. */
  readonly sharesBudgets?: boolean
  readonly runtime?: QuietRuntime
}

/** The parts that one command works with, each opened when it is asked for, and closed in reverse order at the end. */
export class Work implements AsyncDisposable {
  readonly runtime: QuietRuntime
  /** Who takes streams, where this command pumps or changes them. */
  readonly holder: Holder = createHolder(false)
  /** With the zones that were needed. */
  config: Config
  /** Only where `needs` names it. */
  store!: Store
  /** False where nothing was ever shipped: the store is an empty one in memory. */
  hasStore = false
  readonly #parts = new AsyncDisposableStack()
  #limitsOf: Backend['limitsOf'] | undefined
  #reading: Reading | undefined

  private constructor(config: Config, runtime: QuietRuntime) {
    this.config = config
    this.runtime = runtime
  }

  /** Throws Failure; what is open by then is closed. */
  static async open(
    config: Config,
    { store, zones, sharesBudgets = false, runtime = createQuietRuntime() }: Needs,
    signal: AbortSignal,
  ): Promise<Work> {
    await using parts = new AsyncDisposableStack()
    const work = parts.use(new Work(config, runtime))
    if (sharesBudgets) await work.#shareBudgets()
    if (store === 'created') await work.createStore()
    if (store === 'existing') await work.#keep(await openExistingStore(config, runtime.clock))
    if (zones !== undefined) work.config = await work.#withZones(zones, signal)
    parts.move()
    return work
  }

  /** The API clients. */
  get reading(): Reading {
    this.#reading ??= this.#parts.adopt(createReading(this.config, this.runtime, this.#limitsOf), (reading) =>
      reading.close(),
    )
    return this.#reading
  }

  /** Makes the store where there is none yet. */
  async createStore(): Promise<Store> {
    if (!this.hasStore) await this.#keep(await openStore(this.config, this.runtime.clock))
    return this.store
  }

  /** Creates what delivers and changes streams; `delivers: false` opens no sink. */
  async shipping(
    options: Pick<ShippingOver, 'held' | 'delivers'> & { readonly holder?: Holder } = {},
  ): Promise<Shipping> {
    const { createShipping } = await import('./shipping.ts')
    const { store, reading, holder } = this
    const shipping = createShipping(this.config, this.runtime, { store, reading, holder, ...options })
    return this.#parts.adopt(shipping, (each) => each.close())
  }

  /** Keeps the streams of `holder` taken while it works. */
  beating<Result>(work: () => Promise<Result>): Promise<Result> {
    return withHeartbeat({ store: this.store, clock: this.runtime.clock, holder: this.holder }, work)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }

  async #keep(store: Store | undefined): Promise<void> {
    this.hasStore = store !== undefined
    const kept = store ?? (await openEmptyStore(this.config, this.runtime.clock))
    this.store = this.#parts.adopt(kept, (each) => each.close())
  }

  async #withZones(zones: NonNullable<Needs['zones']>, signal: AbortSignal): Promise<Config> {
    const accounts = discoveringIn(this.config)
    if (accounts.length === 0) return this.config
    const lists = zones === 'listed' ? [] : await this.store.catalogue.zoneLists()
    const stored = new Map(lists.map((list) => [list.account, list]))
    const isKnown = zones === 'stored' || accounts.every(({ name }) => stored.has(name))
    if (isKnown) return withZones(this.config, stored)
    const found = new Map<string, Extract<AccountZones, { zones: unknown }>>()
    for (const each of await listZones(this.reading.clientOf)(accounts, signal)) {
      if ('failure' in each) throw each.failure
      found.set(each.account, each)
    }
    return withZones(this.config, found)
  }

  async #shareBudgets(): Promise<void> {
    const fleet = fleetState(this.config)
    // SQLite has no budgets that processes share.
    if (fleet === undefined) return
    const [{ connectRedis }, { createAccountLimits }] = await Promise.all([
      import('../redis/connection.ts'),
      import('../redis/account-limits.ts'),
    ])
    const { keyPrefix } = fleet
    // Without an answer of Redis the gate uses a budget of this process.
    const client = connectRedis(fleet, { manner: 'prompt', name: `${keyPrefix}:shared` }, () => undefined)
    this.#parts.defer(() => client.disconnect())
    this.#limitsOf = (account, { api: { maxRequestsPerSecond } }) =>
      createAccountLimits({ keyPrefix, account, maxRequestsPerSecond }, client, this.runtime.clock)
  }
}

/** Opens what a command needs; `await using` closes it. Throws Failure. */
export function openWork(config: Config, needs: Needs, signal: AbortSignal): Promise<Work> {
  return Work.open(config, needs, signal)
}

/** The configuration with the zones that a run ships, else with those that the API lists. Throws Failure. */
export async function withKnownZones(config: Config, signal: AbortSignal): Promise<Config> {
  if (discoveringIn(config).length === 0) return config
  await using work = await openWork(config, { store: 'existing', zones: 'known' }, signal)
  return work.config
}
