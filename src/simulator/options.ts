import { hashOf } from './entries/hash.ts'
import { parseDay } from '../domain/day.ts'
import { systemClock } from '../clock.ts'
import type { EntryShape, LogAs, TimestampUnit } from './entries/entry.ts'
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
  /** Zones that the list of zones leaves out although their event logs are answered. */
  unlistedZones?: readonly number[]
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
  /** `hostile` tokens hold / = ? % + and a space. */
  tokenStyle?: 'plain' | 'hostile'
  /** Older tokens are refused with 400. Tokens issued while there was no lifetime count as too old. */
  tokenLifetimeMs?: number | null
  readableDays?: number
  windowErrorStatus?: 401 | 400
  /** The `errorResponse` of a successful page: left out, null, or an object that only says success false. */
  emptyError?: 'absent' | 'null' | 'success-false'
  /** The service's clock minus the Clock's: shifts `Date` and the current day. */
  clockSkewMs?: number
  latencyMs?: number
  /** Encoding of answers, where the request accepts it. */
  compress?: 'gzip' | 'br' | 'zstd' | 'deflate' | null
  /** Requests beyond this rate per second are answered with 429 and Retry-After. */
  requestsPerSecond?: number | null
  entry?: { logAs?: LogAs; timestampUnit?: TimestampUnit; bytes?: number }
  /** The same seed gives the same entries. */
  seed?: number
  /** Steady traffic into every zone, from now on. */
  live?: { ratePerSecond: number }
  /** Entries that each zone holds from the start: by day, or for every readable day. */
  days?: { readonly [day: string]: number } | number
  /** Applications of the account; any other is answered as unknown. */
  apps?: readonly string[]
  /**
   * Serves what a simulator with the same options lists that started then, ms since the epoch: entries are computed, so
   * a restart can list the same ones. Default: now.
   */
  startedAtMs?: number | null
  /** Volume templates on a page of the volume list. */
  volumesPageSize?: number
}

/** Every option with a value. */
export type Settings = Readonly<Required<Omit<SimulatorOptions, 'entry' | 'live'>>> & {
  readonly entry: EntryShape
  readonly live: { readonly ratePerSecond: number }
}

const defaults = {
  host: '127.0.0.1',
  port: 0,
  accessKey: null,
  zones: [101, 102],
  unlistedZones: [],
  pageSize: 1000,
  order: 'oldest-first',
  tokens: 'position',
  firstPage: 'omit',
  lastToken: 'empty',
  tokenStyle: 'plain',
  tokenLifetimeMs: null,
  readableDays: 3,
  windowErrorStatus: 401,
  emptyError: 'null',
  clockSkewMs: 0,
  latencyMs: 0,
  compress: null,
  requestsPerSecond: null,
  seed: 1,
  live: { ratePerSecond: 0 },
  days: 0,
  apps: ['shop'],
  startedAtMs: null,
  volumesPageSize: 1000,
} satisfies Omit<SimulatorOptions, 'clock' | 'entry'>

/** Applies the defaults. Throws a RangeError that names the option, its value and what is allowed. */
export function settingsOf(options: SimulatorOptions): Settings {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const merged: Omit<Required<SimulatorOptions>, 'entry' | 'clock'> = { ...defaults, ...given }
  checkNumbers(merged)
  if (typeof merged.days === 'object') {
    for (const [day, count] of Object.entries(merged.days)) {
      if (parseDay(day) === undefined) throw wrong('days', day, 'days written YYYY-MM-DD')
      checkNumber(`days.${day}`, count, 0, true)
    }
  } else checkNumber('days', merged.days, 0, true)
  const bytes = options.entry?.bytes ?? 525
  checkNumber('entry.bytes', bytes, 1)
  return {
    ...merged,
    clock: options.clock ?? systemClock,
    entry: {
      seed: merged.seed,
      logAs: options.entry?.logAs ?? 'text',
      timestampUnit: options.entry?.timestampUnit ?? 'ms',
      bytes,
    },
  }
}

/** The key that signs tokens, so that a token of another simulator is not accepted. */
export function tokenSeal(settings: Settings): number {
  return hashOf(`seal ${settings.seed}`)
}

function checkNumbers(options: Omit<Required<SimulatorOptions>, 'entry' | 'clock'>): void {
  checkNumber('port', options.port, 0, true)
  checkNumber('pageSize', options.pageSize, 1, true)
  checkNumber('readableDays', options.readableDays, 1, true)
  checkNumber('latencyMs', options.latencyMs, 0)
  checkNumber('clockSkewMs', options.clockSkewMs, Number.NEGATIVE_INFINITY)
  checkNumber('volumesPageSize', options.volumesPageSize, 1, true)
  checkNumber('seed', options.seed, Number.MIN_SAFE_INTEGER, true)
  checkNumber('live.ratePerSecond', options.live.ratePerSecond, 0)
  if (options.tokenLifetimeMs !== null) checkNumber('tokenLifetimeMs', options.tokenLifetimeMs, 0)
  if (options.requestsPerSecond !== null) checkNumber('requestsPerSecond', options.requestsPerSecond, 0.001)
  for (const zone of options.zones) checkNumber('zones', zone, 0, true)
}

function checkNumber(name: string, value: number, least: number, whole = false): void {
  const good = Number.isFinite(value) && value >= least && (!whole || Number.isSafeInteger(value))
  if (!good) throw wrong(name, value, `${whole ? 'a whole number' : 'a number'} of at least ${least}`)
}

function wrong(name: string, value: unknown, remedy: string): RangeError {
  return new RangeError(`simulator option ${name} is ${String(value)}; use ${remedy}`)
}
