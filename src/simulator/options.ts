import { systemClock } from '../clock.ts'
import type { Clock } from '../ports/process.ts'

/** Every option with a value. */
export interface Settings {
  readonly clock: Clock
  /** Address to listen on. */
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Null: event logs, metrics and rules accept any key or none; volumes always require a key. */
  readonly accessKey: string | null
  /** Zones of the account; any other is answered as unknown. */
  readonly zones: readonly number[]
  /** Entries, or volume templates, on a page. */
  readonly pageSize: number
  /** Null: every page but the last is full. Else each answer has a number of entries between this and `pageSize`. */
  readonly leastPageSize: number | null
  /** `unordered` is a fixed shuffle: new entries appear anywhere. */
  readonly order: 'oldest-first' | 'newest-first' | 'unordered'
  /**
   * Meaning of a token: `position` is a number of entries to skip in the current listing; `anchor` the entry after
   * which the page begins; `snapshot` a position in the listing at the time of the first page.
   */
  readonly tokens: 'position' | 'snapshot' | 'anchor'
  /** How long a token is accepted after it was issued. Null: always, and a place always has the same token. */
  readonly tokenLifeMs: number | null
  /** The only accepted form of the first page: `omit`, `empty`, a literal, or `any` of the first two. */
  readonly firstPage: string
  readonly lastToken: 'empty' | 'null' | 'repeated' | 'real'
  readonly readableDays: number
  readonly latencyMs: number
  /** Approximate size of an entry's JSON: the mean over many entries. */
  readonly entryBytes: number
  /** The same seed gives the same entries. */
  readonly seed: number
  /** Steady traffic into every zone, from now on. */
  readonly live: { readonly ratePerSecond: number }
  /** Every tenth entry of the steady traffic turns up so long after its time. */
  readonly lateMs: number
  /** Entries that each zone holds from the start: by day, or for every readable day. */
  readonly days: { readonly [day: string]: number } | number
  /**
   * Serves what a simulator with the same options lists that started then, ms since the epoch: entries are computed, so
   * a restart can list the same ones. Null: now.
   */
  readonly startedAtMs: number | null
}

export type SimulatorOptions = Partial<Settings>

const defaults: Settings = {
  clock: systemClock,
  host: '127.0.0.1',
  port: 0,
  accessKey: null,
  zones: [101, 102],
  pageSize: 1000,
  leastPageSize: null,
  order: 'oldest-first',
  tokens: 'position',
  tokenLifeMs: null,
  firstPage: 'omit',
  lastToken: 'empty',
  readableDays: 3,
  latencyMs: 0,
  entryBytes: 525,
  seed: 1,
  live: { ratePerSecond: 0 },
  lateMs: 0,
  days: 0,
  startedAtMs: null,
}

/** Applies the defaults. Throws a RangeError that names the option, its value and what is allowed. */
export function settingsOf(options: SimulatorOptions): Settings {
  const settings = { ...defaults, ...options }
  const { pageSize, leastPageSize, live } = settings
  if (!(pageSize >= 1)) throw outOfRange('pageSize', pageSize, 'a whole number of at least 1')
  if (leastPageSize !== null && !(leastPageSize >= 1 && leastPageSize <= pageSize))
    throw outOfRange('leastPageSize', leastPageSize, 'a whole number from 1 to pageSize')
  if (!(live.ratePerSecond >= 0))
    throw outOfRange('live.ratePerSecond', live.ratePerSecond, 'a number of at least 0')
  return settings
}

function outOfRange(name: string, value: number, remedy: string): RangeError {
  return new RangeError(`simulator option ${name} is ${value}; use ${remedy}`)
}
