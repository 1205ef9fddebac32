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
  const settings: Settings = { ...defaults, ...options }
  const { pageSize, readableDays, zones, days, live } = settings
  const perDay = typeof days === 'number' ? { '': days } : days
  const wrongDay = Object.keys(perDay).find((day) => day !== '' && parseDay(day) === undefined)
  if (wrongDay !== undefined) throw wrong('days', wrongDay, 'days written YYYY-MM-DD')
  check('live.ratePerSecond', live.ratePerSecond, 0, Number.isFinite)
  check('pageSize', pageSize, 1)
  check('readableDays', readableDays, 1)
  for (const zone of zones) check('zones', zone, 0)
  for (const count of Object.values(perDay)) check('days', count, 0)
  return settings
}

function check(name: string, value: number, least: number, isGood = Number.isSafeInteger): void {
  const what = isGood === Number.isFinite ? 'a number' : 'a whole number'
  if (!isGood(value) || value < least) throw wrong(name, value, `${what} of at least ${least}`)
}

function wrong(name: string, value: unknown, remedy: string): RangeError {
  return new RangeError(`simulator option ${name} is ${String(value)}; use ${remedy}`)
}
