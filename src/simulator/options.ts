import { parseDay } from '../domain/day.ts'
import { systemClock } from '../clock.ts'
import type { ListingOrder } from './entries/listing.ts'
import type { Clock } from '../ports/process.ts'

export interface SimulatorOptions {
  clock?: Clock
  /** Address to listen on. Default 127.0.0.1. */
  host?: string
  /** 0 selects a free port. */
  port?: number
  /** Null: event logs, metrics and rules accept any key or none; volumes always require a key. */
  accessKey?: string | null
  /** Zones of the account; any other is answered as unknown. */
  zones?: readonly number[]
  /** Entries, or volume templates, on a page. */
  pageSize?: number
  /** `unordered` is a fixed shuffle: new entries appear anywhere. */
  order?: ListingOrder
  /**
   * Meaning of a token: `position` is a number of entries to skip in the current listing; `anchor` the entry after
   * which the page begins; `snapshot` a position in the listing at the time of the first page.
   */
  tokens?: 'position' | 'snapshot' | 'anchor'
  /** The only accepted form of the first page: `omit`, `empty`, a literal, or `any` of the first two. */
  firstPage?: string
  lastToken?: 'empty' | 'null' | 'repeated' | 'real'
  readableDays?: number
  latencyMs?: number
  /** Approximate size of an entry's JSON: the mean over many entries. */
  entryBytes?: number
  /** The same seed gives the same entries. */
  seed?: number
  /** Steady traffic into every zone, from now on. */
  live?: { ratePerSecond: number }
  /** Entries that each zone holds from the start: by day, or for every readable day. */
  days?: { readonly [day: string]: number } | number
  /**
   * Serves what a simulator with the same options lists that started then, ms since the epoch: entries are computed, so
   * a restart can list the same ones. Default: now.
   */
  startedAtMs?: number | null
}

/** Every option with a value. */
export type Settings = Readonly<Required<SimulatorOptions>>

const defaults = {
  clock: systemClock,
  host: '127.0.0.1',
  port: 0,
  accessKey: null,
  zones: [101, 102],
  pageSize: 1000,
  order: 'oldest-first',
  tokens: 'position',
  firstPage: 'omit',
  lastToken: 'empty',
  readableDays: 3,
  latencyMs: 0,
  entryBytes: 525,
  seed: 1,
  live: { ratePerSecond: 0 },
  days: 0,
  startedAtMs: null,
} satisfies SimulatorOptions

/** Applies the defaults. Throws a RangeError that names the option, its value and what is allowed. */
export function settingsOf(options: SimulatorOptions): Settings {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const settings: Settings = { ...defaults, ...given }
  const { days } = settings
  checkNumber('port', settings.port, 0, true)
  checkNumber('pageSize', settings.pageSize, 1, true)
  checkNumber('readableDays', settings.readableDays, 1, true)
  checkNumber('latencyMs', settings.latencyMs, 0)
  checkNumber('seed', settings.seed, Number.MIN_SAFE_INTEGER, true)
  checkNumber('live.ratePerSecond', settings.live.ratePerSecond, 0)
  checkNumber('entryBytes', settings.entryBytes, 1)
  for (const zone of settings.zones) checkNumber('zones', zone, 0, true)
  for (const [day, count] of Object.entries(typeof days === 'number' ? {} : days)) {
    if (parseDay(day) === undefined) throw wrong('days', day, 'days written YYYY-MM-DD')
    checkNumber(`days.${day}`, count, 0, true)
  }
  if (typeof days === 'number') checkNumber('days', days, 0, true)
  return settings
}

function checkNumber(name: string, value: number, least: number, whole = false): void {
  const good = Number.isFinite(value) && value >= least && (!whole || Number.isSafeInteger(value))
  if (!good) throw wrong(name, value, `${whole ? 'a whole number' : 'a number'} of at least ${least}`)
}

function wrong(name: string, value: unknown, remedy: string): RangeError {
  return new RangeError(`simulator option ${name} is ${String(value)}; use ${remedy}`)
}
