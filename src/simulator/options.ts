import { systemClock } from '../clock.ts'
import type { EntryChange } from './entries/changes.ts'

/** What these settings can be; the first is the default. */
export const choices = {
  /** `unordered` is a fixed shuffle: new entries appear anywhere. */
  order: ['oldest-first', 'newest-first', 'unordered'],
  /**
   * Meaning of a token: `position` is a number of entries to skip in the current listing; `snapshot` a position in the
   * listing at the time of the first page; `anchor` the entry after which the page begins.
   */
  tokens: ['position', 'snapshot', 'anchor'],
  lastToken: ['empty', 'null', 'repeated', 'real'],
  /** The answer for a day that can no longer be read. */
  oldDays: ['refused', 'bad-request', 'not-found', 'empty'],
} as const

type Choice<Name extends keyof typeof choices> = (typeof choices)[Name][number]

/** All that the simulator can be told, with its defaults. */
export const defaults = {
  clock: systemClock,
  /** Address to listen on. */
  host: '127.0.0.1',
  /** 0 selects a free port. */
  port: 0,
  /** Null: event logs, metrics and rules accept any key or none; volumes always require a key. */
  accessKey: null as string | null,
  /** Zones of the account; any other is answered as unknown. */
  zones: [101, 102] as readonly number[],
  /** Entries, or volume templates, on a page. */
  pageSize: 1000,
  /** Null: every page but the last is full. Else each answer has a number of entries between this and `pageSize`. */
  leastPageSize: null as number | null,
  order: choices.order[0] as Choice<'order'>,
  tokens: choices.tokens[0] as Choice<'tokens'>,
  /** How long a token is accepted after it was issued. Null: always, and a place always has the same token. */
  tokenSeconds: null as number | null,
  /** The only accepted form of the first page: `omit`, `empty`, a literal, or `any` of the first two. */
  firstPage: 'omit',
  lastToken: choices.lastToken[0] as Choice<'lastToken'>,
  readableDays: 3,
  oldDays: choices.oldDays[0] as Choice<'oldDays'>,
  latencyMs: 0,
  /** Of event logs; more are answered 429, with the seconds that are left of the minute. Null: any number. */
  requestsPerMinute: null as number | null,
  /** The `Date` of every answer is so much ahead of the clock. */
  clockOffsetSeconds: 0,
  /** Answers are compressed with gzip. */
  compress: false,
  /** Approximate size of an entry's JSON: the mean over many entries. */
  entryBytes: 525,
  /** What becomes of each entry of event logs, in this order. */
  changeEntries: [] as readonly EntryChange[],
  /** The same seed gives the same entries. */
  seed: 1,
  /** Steady traffic into every zone, from now on. */
  live: { ratePerSecond: 0 },
  /** Every tenth entry of the steady traffic turns up so long after its time. */
  lateSeconds: 0,
  /** Entries that each zone holds from the start: by day, or for every readable day. */
  days: 0 as { readonly [day: string]: number } | number,
  /**
   * Serves what a simulator with the same options lists that started then, ms since the epoch: entries are computed, so
   * a restart can list the same ones. Null: now.
   */
  startedAt: null as number | null,
}

export type Settings = Readonly<typeof defaults>
export type SimulatorOptions = Partial<Settings>
