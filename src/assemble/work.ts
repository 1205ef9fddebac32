import type { Config } from '../config/schema.ts'
import { listZones, type AccountZones } from '../discovery/list-zones.ts'
import { discoveringIn, withZones } from '../discovery/with-zones.ts'
import type { Store } from '../ports/store.ts'
import { withHeartbeat } from '../pump/session.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { createHolder, fleetState, openEmptyStore, openExistingStore, openStore } from './state.ts'
import { createReading, type LimitsOf, type ApiReading } from './api-reading.ts'
import type { Shipping, ShippingOver } from './shipping.ts'

/** What a command needs to be open, besides what it asks a `Work` for. */
export interface WorkNeeds {
  /** `existing`: the store that there is, else an empty one in memory; `created`: also makes one. */
  readonly store?: 'existing' | 'created'
  /**
   * The zones of accounts that discover theirs. `stored`: those that a run ships, and none of an account that no run has
   * listed; `known`: the same, else those that the API lists; `listed`: those that the API lists.
   */
  readonly zones?: 'stored' | 'known' | 'listed'
  /** Requests count against the budgets that the processes of a fleet share. */
  readonly sharesBudgets?: boolean
  readonly runtime?: Runtime
}

/** The parts that one command works with, each opened when it is asked for, and closed in reverse order at the end. */
export class Work implements AsyncDisposable {
  readonly runtime: Runtime
  /** Who takes streams, where this command pumps or changes them. */
  readonly holder = createHolder(false)
  /** With the zones that were needed. */
  config: Config
  /** Only where `needs` names it. */
  store!: Store
  /** False where nothing was ever shipped: the store is an empty one in memory. */
  hasStore = false
  readonly #parts = new AsyncDisposableStack()
  #limitsOf: LimitsOf | undefined
  #reading: ApiReading | undefined

  constructor(config: Config, runtime: Runtime) {
    this.config = config
    this.runtime = runtime
  }

  /** The API clients. */
  get reading(): ApiReading {
    this.#reading ??= this.#parts.use(createReading(this.config, this.runtime, this.#limitsOf))
    return this.#reading
  }

  async openStore(): Promise<void> {
    const existing = await openExistingStore(this.config, this.runtime.clock)
    this.hasStore = existing !== undefined
    this.#keep(existing ?? (await openEmptyStore(this.config, this.runtime.clock)))
  }

  /** Makes the store where there is none yet. */
  async createStore(): Promise<Store> {
    if (!this.hasStore) this.#keep(await openStore(this.config, this.runtime.clock))
    this.hasStore = true
    return this.store
  }

  #keep(store: Store): void {
    this.store = this.#parts.adopt(store, (each) => each.close())
  }

  /** Creates what delivers and changes streams; `delivers: false` opens no sink. */
  async shipping(options: Partial<Pick<ShippingOver, 'delivers' | 'holder'>> = {}): Promise<Shipping> {
    const { createShipping } = await import('./shipping.ts')
    const { store, reading, holder } = this
    const over = { store, reading, holder, ...options }
    return this.#parts.use(createShipping(this.config, this.runtime, over))
  }

  /** Keeps the streams of `holder` taken while it works. */
  beating<Result>(work: () => Promise<Result>): Promise<Result> {
    return withHeartbeat({ store: this.store, clock: this.runtime.clock, holder: this.holder }, work)
  }

  /** Throws Failure. */
  async needZones(zones: NonNullable<WorkNeeds['zones']>, signal: AbortSignal): Promise<void> {
    const accounts = discoveringIn(this.config)
    if (accounts.length === 0) return
    const lists = zones === 'listed' ? [] : await this.store.catalogue.zoneLists()
    let found: Parameters<typeof withZones>[1] = new Map(lists.map((list) => [list.account, list]))
    if (zones !== 'stored' && !accounts.every(({ name }) => found.has(name))) {
      const listed = await listZones(this.reading.clientOf)(accounts, signal)
      found = new Map(listed.map((each) => [each.account, zonesOr(each)]))
    }
    this.config = withZones(this.config, found)
  }

  async shareBudgets(): Promise<void> {
    const fleet = fleetState(this.config)
    // SQLite has no budgets that processes share.
    if (fleet === undefined) return
    const { connectLimits } = await import('../redis/account-limits.ts')
    const { client, limitsOf } = connectLimits(fleet, this.runtime.clock)
    this.#parts.defer(() => client.disconnect())
    this.#limitsOf = limitsOf
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}

function zonesOr(listed: AccountZones) {
  if ('failure' in listed) throw listed.failure
  return listed
}

/** Opens what a command needs; `await using` closes it. Throws Failure; what is open by then is closed. */
export async function openWork(
  config: Config,
  { store, zones, sharesBudgets = false, runtime = createRuntime() }: WorkNeeds,
  signal: AbortSignal,
): Promise<Work> {
  await using parts = new AsyncDisposableStack()
  const work = parts.use(new Work(config, runtime))
  if (sharesBudgets) await work.shareBudgets()
  if (store === 'created') await work.createStore()
  if (store === 'existing') await work.openStore()
  if (zones !== undefined) await work.needZones(zones, signal)
  parts.move()
  return work
}

/** The configuration with the zones that a run ships, else with those that the API lists. Throws Failure. */
export async function withKnownZones(config: Config, signal: AbortSignal): Promise<Config> {
  if (discoveringIn(config).length === 0) return config
  await using work = await openWork(config, { store: 'existing', zones: 'known' }, signal)
  return work.config
}
