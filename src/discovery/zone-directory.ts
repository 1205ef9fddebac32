import type { Config } from '../config/schema.ts'
import { Failure } from '../domain/failure.ts'
import { isGone } from '../domain/zone-list.ts'
import type { FoundZone, ZoneList } from '../domain/zone-list.ts'
import type { Zone } from '../domain/stream.ts'
import { unlisted, type AccountZones } from './list-zones.ts'
import { takeListing, type ListingDeps } from './take-listing.ts'
import { discoveringIn, namedZones, withZones } from './with-zones.ts'

interface DirectoryDeps extends ListingDeps {
  /** Whether this process lists zones; the others read what it has stored. */
  readonly schedules: boolean
  /** Lists the zones of accounts of a configuration. Throws only `cancelled`, and bugs. */
  readonly list: (
    config: Config,
    accounts: Config['accounts'],
    signal: AbortSignal,
  ) => Promise<AccountZones[]>
  /** Called whenever the lists have changed. */
  readonly changed: () => void
}

export interface MissingZones {
  readonly account: string
  readonly failure?: Failure
}

/** Interval of tries while the zones of an account are not known, except after failures that need a fix. */
const soonMs = 5_000
/** A process learns within this time what another one has listed, and lists again after a failure. */
const againMs = 30_000

/**
 * The zones that a process ships: those of its configuration and, where an account discovers its zones, those of its
 * list in the store. Processes that schedule write these lists, every process reads them: what is shipped never depends
 * on which process asked the API last, nor on whether it answers.
 */
export class ZoneDirectory {
  readonly #deps: DirectoryDeps
  #lists: ReadonlyMap<string, ZoneList> = new Map()
  #text = ''
  /** Accounts whose latest listing failed. */
  readonly #failures = new Map<string, Failure>()
  #filled = new WeakMap<Config, Config>()
  #turn = Promise.resolve()

  constructor(deps: DirectoryDeps) {
    this.#deps = deps
  }

  /** The configuration with the zones that are known. */
  fill(config: Config): Config {
    const known = this.#filled.get(config)
    if (known !== undefined) return known
    const filled = withZones(config, this.#lists)
    this.#filled.set(config, filled)
    return filled
  }

  /** The first account whose zones are not known, and why where a listing failed. */
  missing(config: Config): MissingZones | undefined {
    const account = discoveringIn(config).find(({ name }) => !this.#lists.has(name))?.name
    if (account === undefined) return undefined
    const failure = this.#failures.get(account)
    return failure === undefined ? { account } : { account, failure }
  }

  /** Reads the lists from the store. Throws the Failures of a store. */
  async read(): Promise<void> {
    const lists = await this.#deps.store.catalogue.zoneLists()
    const text = JSON.stringify(lists.map(({ account, zones }) => ({ account, zones })))
    this.#lists = new Map(lists.map((list) => [list.account, list]))
    if (text === this.#text) return
    this.#text = text
    this.#filled = new WeakMap()
    this.#deps.changed()
  }

  /**
   * Reads the lists, and lists the zones of accounts whose list is old (`always`: of all) where this process schedules.
   * An account that cannot be listed keeps its list. Throws the Failures of a store, and `cancelled`.
   */
  refresh(config: Config, signal: AbortSignal, always = false): Promise<void> {
    // In sequence: two listings at once would each report what is new.
    const turn = this.#turn.then(() => this.#refresh(config, signal, always))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #refresh(config: Config, signal: AbortSignal, always: boolean): Promise<void> {
    await this.read()
    const due = discoveringIn(config).filter(
      (account) => always || this.#isOld(account.name, account.discovery.everyMinutes),
    )
    if (!this.#deps.schedules || due.length === 0) return
    const listed = await this.#deps.list(config, due, signal)
    // Another process may have listed meanwhile: what it found is kept.
    await this.read()
    for (const each of listed) await this.#take(each, listed, config)
    await this.read()
    for (const { account } of listed) {
      if (this.#failures.has(account)) continue
      const zones = this.#shipped(config, account).length
      this.#deps.telemetry.emit({ name: 'ZonesListed', account, zones })
    }
  }

  async #take(listed: AccountZones, all: readonly AccountZones[], config: Config): Promise<void> {
    const { account } = listed
    const list = this.#lists.get(account)
    const failure = 'failure' in listed ? listed.failure : await this.#disbelief(all, config, account)
    if ('failure' in listed || failure !== undefined) {
      this.#failures.set(account, failure!)
      const known = list && this.#shipped(config, account).length
      this.#deps.telemetry.emit({ name: 'ZoneListingFailed', account, failure: failure!, known })
      return
    }
    this.#failures.delete(account)
    const elsewhere = new Set(
      [...namedZones(config), ...this.#listedByOthers(account, all, config)].map(({ id }) => id),
    )
    const before = list?.zones ?? []
    const found = this.#foundBy(all).set(account, { zones: [...listed.zones, ...before] })
    const shipped = new Set(zonesIn(withZones(config, found), account).map(({ id }) => id))
    const isShipped = ({ id }: Pick<FoundZone, 'id'>) => shipped.has(id)
    await takeListing(listed, config, { ...this.#deps, before, elsewhere, isShipped })
  }

  /** By account: this listing, else the latest one. */
  #foundBy(all: readonly AccountZones[]) {
    const found = new Map<string, { readonly zones: readonly FoundZone[] }>(this.#lists)
    for (const each of all) if ('zones' in each) found.set(each.account, each)
    return found
  }

  /** What of the last list this configuration ships. */
  #shipped(config: Config, account: string): readonly Zone[] {
    return zonesIn(withZones(config, this.#lists), account)
  }

  /** Without those that the other account leaves out: nobody would read them to their end. */
  #listedByOthers(account: string, all: readonly AccountZones[], config: Config): Pick<FoundZone, 'id'>[] {
    const found = this.#foundBy(all)
    const others = discoveringIn(config).filter(({ name }) => name !== account)
    return others.flatMap(({ name, discovery }) =>
      (found.get(name)?.zones ?? []).filter(
        ({ id, leftAtMs }) => leftAtMs === undefined && !discovery.exclude.includes(id),
      ),
    )
  }

  /**
   * Refreshes until the signal aborts; `current` is the configuration in force. Never rejects: the store reports its
   * own failures, and what is known stays in force.
   */
  async watch(current: () => Config, signal: AbortSignal): Promise<void> {
    const { clock, telemetry } = this.#deps
    while (!signal.aborted) {
      await clock.sleep(this.#pauseMs(current()), signal).catch(() => undefined)
      if (signal.aborted || discoveringIn(current()).length === 0) continue
      await this.refresh(current(), signal).catch((error: unknown) => {
        if (!signal.aborted) telemetry.emit({ name: 'UpkeepFailed', task: 'discovery', error })
      })
    }
  }

  #pauseMs(config: Config): number {
    const missing = this.missing(config)
    if (missing !== undefined) return missing.failure?.kind === 'stop' ? againMs : soonMs
    const minutes = discoveringIn(config).map(({ discovery }) => discovery.everyMinutes)
    return Math.min(againMs, ...minutes.map((every) => every * 60_000))
  }

  /** A list from the future was written by a host with another clock. */
  #isOld(account: string, everyMinutes: number): boolean {
    const list = this.#lists.get(account)
    return list === undefined || Math.abs(this.#deps.clock.now() - list.listedAtMs) >= everyMinutes * 60_000
  }

  /**
   * All zones gone at once are rather a wrong key or a broken answer, unless the API says of each zone that it does not
   * know it.
   */
  async #disbelief(
    all: readonly AccountZones[],
    config: Config,
    account: string,
  ): Promise<Failure | undefined> {
    const isEmpty = all.some((each) => each.account === account && 'zones' in each && each.zones.length === 0)
    const known = this.#lists.get(account)?.zones ?? []
    const left = new Set(known.flatMap(({ id, leftAtMs }) => (leftAtMs === undefined ? [] : [id])))
    const listed = this.#shipped(config, account).filter(({ id }) => !left.has(id))
    if (!isEmpty || listed.length === 0) return undefined
    const checkpoints = await this.#deps.store.catalogue.checkpoints()
    const byZone = Map.groupBy(checkpoints, ({ stream }) => stream.zone)
    if (listed.every(({ id }) => isGone(byZone.get(id) ?? []))) return undefined
    const text =
      'the API lists no zones any more; shieldlog assumes a wrong key or a faulty answer and keeps the last list'
    return unlisted(account, new Failure('retry', 'bad_body', text))
  }
}

function zonesIn({ accounts }: Config, account: string): readonly Zone[] {
  return accounts.find(({ name }) => name === account)?.zones ?? []
}
