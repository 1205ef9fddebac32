import { policyOf } from '../config/policy.ts'
import type { Config } from '../config/schema.ts'
import type { Checkpoint } from '../domain/checkpoint.ts'
import { Failure } from '../domain/failure.ts'
import { plan } from '../domain/plan/plan.ts'
import { unreadOf } from '../domain/plan/stream-state.ts'
import { createInTurn } from '../domain/promises.ts'
import type { Gap, Zone } from '../domain/stream.ts'
import { isGone, isReadToItsEnd, relist, type FoundZone, type ZoneList } from '../domain/zone-list.ts'
import type { Clock, Telemetry } from '../ports/process.ts'
import type { Store } from '../ports/store.ts'
import type { ApiClock } from '../pump/api-clock.ts'
import { unlisted, type AccountZones } from './list-zones.ts'
import { discoveringIn, namedZones, withZones } from './with-zones.ts'

interface DirectoryDeps {
  readonly store: Store
  readonly clock: Clock
  readonly apiClock: ApiClock
  readonly telemetry: Telemetry
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
  readonly failure: Failure | undefined
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
  readonly #inTurn = createInTurn()

  constructor(deps: DirectoryDeps) {
    this.#deps = deps
  }

  /** The configuration with the zones that are known. */
  fill(config: Config): Config {
    const whole = this.#filled.get(config) ?? withZones(config, this.#lists)
    this.#filled.set(config, whole)
    return whole
  }

  /** The first account whose zones are not known, and why where a listing failed. */
  missing(config: Config): MissingZones | undefined {
    const account = discoveringIn(config).find(({ name }) => !this.#lists.has(name))?.name
    return account === undefined ? undefined : { account, failure: this.#failures.get(account) }
  }

  /** Reads the lists from the store. Throws the Failures of a store. */
  async read(): Promise<void> {
    const stored = await this.#deps.store.catalogue.zoneLists()
    const before = this.#text
    this.#text = JSON.stringify(stored.map(({ account, zones }) => ({ account, zones })))
    this.#lists = new Map(stored.map((list) => [list.account, list]))
    if (this.#text === before) return
    this.#filled = new WeakMap()
    this.#deps.changed()
  }

  /**
   * Reads the lists, and lists the zones of accounts whose list is old (`always`: of all) where this process schedules.
   * An account that cannot be listed keeps its list. Throws the Failures of a store, and `cancelled`.
   */
  refresh(config: Config, signal: AbortSignal, always = false): Promise<void> {
    const { list, schedules, telemetry } = this.#deps
    // In sequence: two listings at once would each report what is new.
    return this.#inTurn(async () => {
      await this.read()
      const due = discoveringIn(config).filter(
        (account) => always || this.#isOld(account.name, account.discovery.everyMinutes),
      )
      if (!schedules || due.length === 0) return
      const listed = await list(config, due, signal)
      // Another process may have listed meanwhile: what it found is kept.
      await this.read()
      for (const each of listed) await this.#take(each, listed, config)
      await this.read()
      for (const { account } of listed) {
        if (this.#failures.has(account)) continue
        const zones = this.#shippedBy(config, account).length
        telemetry.emit({ name: 'ZonesListed', account, zones })
      }
    })
  }

  /**
   * Stores what a listing says of an account: all of its zones. What the configuration leaves out is left out when the
   * list is used, so a configuration that is refused after the listing changes nothing. The gaps of zones that are
   * retired are stored first: a process that is killed in between retires them again, and the same gaps count once.
   */
  async #take(listed: AccountZones, all: readonly AccountZones[], config: Config): Promise<void> {
    const { apiClock, clock, store, telemetry } = this.#deps
    const { account } = listed
    const checkpoints = await store.catalogue.checkpoints()
    const byZone = Map.groupBy(checkpoints, ({ stream }) => stream.zone)
    const heldOf = ({ id }: Pick<FoundZone, 'id'>): Checkpoint[] => byZone.get(id) ?? []
    const before = this.#lists.get(account)?.zones ?? []
    const shippedNow = this.#shippedBy(config, account)
    const isKnown = (zone: Zone) =>
      !isGone(heldOf(zone)) && before.some(({ id, leftAtMs }) => id === zone.id && leftAtMs === undefined)
    if ('failure' in listed || (listed.zones.length === 0 && shippedNow.some(isKnown))) {
      const failure = 'failure' in listed ? listed.failure : unlisted(account, noZones)
      this.#failures.set(account, failure)
      const known = this.#lists.has(account) ? shippedNow.length : undefined
      telemetry.emit({ name: 'ZoneListingFailed', account, failure, known })
      return
    }
    this.#failures.delete(account)

    const found = new Map<string, { readonly zones: readonly FoundZone[] }>(this.#lists)
    for (const each of all) if ('zones' in each) found.set(each.account, each)
    // Without those that the other account leaves out: nobody would read them to their end.
    const others = discoveringIn(config).flatMap(({ name, discovery }) =>
      (name === account ? [] : (found.get(name)?.zones ?? [])).filter(
        ({ id, leftAtMs }) => leftAtMs === undefined && !discovery.exclude.includes(id),
      ),
    )
    found.set(account, { zones: [...listed.zones, ...before] })
    const shipped = new Set(zonesIn(withZones(config, found), account).map(({ id }) => id))
    const isShipped = ({ id }: Pick<FoundZone, 'id'>) => shipped.has(id)
    const nowMs = apiClock.now(account)
    const sureMs = apiClock.sureNow(account)
    const { readableDays } = config.poll
    const next = relist(before, listed.zones, {
      nowMs,
      elsewhere: new Set([...namedZones(config), ...others].map(({ id }) => id)),
      isOver: (zone) =>
        // Not by its old streams while it is left out: they would become gaps.
        (isShipped(zone) && isGone(heldOf(zone))) ||
        // A clock that is days ahead must not retire a zone for which the API answers.
        (sureMs !== undefined && isReadToItsEnd(zone, heldOf(zone), { nowMs: sureMs, readableDays })),
    })
    const [added, left, retired] = [next.added, next.left, next.retired].map((zones) =>
      zones.filter(isShipped),
    )
    const gone = retired!.filter((zone) => isGone(heldOf(zone)))
    const gaps = gone.length === 0 ? [] : await this.#unread(gone, account, checkpoints, config)
    await store.catalogue.addGaps(gaps)
    for (const gap of gaps) telemetry.emit({ name: 'GapFound', gap })
    await store.catalogue.storeZoneList({ account, listedAtMs: clock.now(), zones: next.zones })
    if (added!.length > 0) telemetry.emit({ name: 'ZonesFound', account, zones: added! })
    if (left!.length > 0) telemetry.emit({ name: 'ZonesLeft', account, zones: left! })
    if (retired!.length > 0)
      telemetry.emit({ name: 'ZonesRetired', account, zones: retired!, gaps: gaps.length })
    if (next.zones.some(isShipped)) return
    const why = 'the API lists none, or all are excluded or belong to another account'
    const warning = `no zone of account ${account} is shipped: ${why}`
    telemetry.emit({ name: 'Warned', about: 'zones', text: warning })
  }

  /** What of the days of these zones was not read, into every sink. */
  async #unread(
    zones: readonly FoundZone[],
    account: string,
    checkpoints: readonly Checkpoint[],
    config: Config,
  ): Promise<Gap[]> {
    const { apiClock, store } = this.#deps
    const planned = plan({
      nowOf: apiClock.now,
      zones: zones.map(({ id, name }) => ({ id, name, account })),
      sinks: config.sinks.map(({ name }) => name),
      policy: policyOf(config),
      checkpoints,
      routes: await store.catalogue.routes(),
    })
    return planned.flatMap(({ stream, checkpoint }) =>
      checkpoint?.ended !== undefined
        ? []
        : (unreadOf(checkpoint ?? { stream }, 'zone_gone', apiClock.now(account)) ?? []),
    )
  }

  /** What of the last list this configuration ships. */
  #shippedBy(config: Config, account: string): readonly Zone[] {
    return zonesIn(withZones(config, this.#lists), account)
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
    const unknown = this.missing(config)
    if (unknown !== undefined) return unknown.failure?.kind === 'stop' ? againMs : soonMs
    const minutes = discoveringIn(config).map(({ discovery }) => discovery.everyMinutes)
    return Math.min(againMs, ...minutes.map((every) => every * 60_000))
  }

  /** A list from the future was written by a host with another clock. */
  #isOld(account: string, everyMinutes: number): boolean {
    const list = this.#lists.get(account)
    return list === undefined || Math.abs(this.#deps.clock.now() - list.listedAtMs) >= everyMinutes * 60_000
  }
}

/** All zones gone at once, unless the API says of each that it does not know it. */
const noZones = new Failure(
  'retry',
  'bad_body',
  'the API lists no zones any more; shieldlog assumes a wrong key or a faulty answer and keeps the last list',
)

function zonesIn({ accounts }: Config, account: string): readonly Zone[] {
  return accounts.find(({ name }) => name === account)?.zones ?? []
}
