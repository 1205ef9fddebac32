import type { PartLines, PartEnd, PartReport } from '../domain/audit-report.ts'
import type { Checkpoint, CommittedFiles } from '../domain/checkpoint.ts'
import type { Day } from '../domain/day.ts'
import type { Cursor, Page } from '../domain/scan/page.ts'
import type { Scan } from '../domain/scan/scan.ts'
import type { Priority, Zone, Stream, ZoneDay } from '../domain/stream.ts'
import type { Delivery, CommittedPart } from '../domain/event/delivery.ts'
import type { Event, Identity, KeptEvent } from '../domain/event/event.ts'
import type { Unexpected } from '../domain/event/unexpected.ts'
import type { RetentionLimits, StoredDay } from '../domain/retention.ts'

/**
 * Reads one page of a zone's day, already normalised and redacted.
 *
 * Retries one request a few times, for 10 s in all, and waits for the account's request budget; keeps no other state.
 * Throws only Failure: `window_closed`, `cursor_expired`, `unauthorised` (stop), `zone_gone`, `page_too_large`
 * (refuse), `bad_body`, `rejected`, `timeout`, `network`, `tls`, `server_error` (retry), `throttled` (wait, with
 * `retryAt`), `cancelled`. An entry that cannot be parsed becomes an event that keeps its raw text; it never fails the
 * page.
 */
export interface Source {
  /** Base URL; absent where no server is asked. */
  readonly address?: string
  fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page>
  /** How these events of one of its pages differ from what it knows; absent where it reads back what was shipped. */
  unexpectedIn?(events: readonly Event[]): Unexpected
}

export interface PageRequest {
  readonly zone: Zone
  readonly day: Day
  /** Null requests the first page; the source encodes that as the API expects. */
  readonly cursor: Cursor | null
  readonly priority: Priority
  /** The scan that wants it, as far as its pages are read, for messages; absent where none does. */
  readonly scan?: Pick<Scan, 'pages' | 'fromStoredCursor'>
  /** The sink that the page is for: sinks share the memory for pages. Absent for none, as in an audit. */
  readonly sink?: string
  /**
   * By the steady clock: an answer serves that was requested at this instant or later, for another stream of the zone
   * and day too. Absent: only one of its own.
   */
  readonly requestedSince?: number
  /** So long after its request an answer that has arrived serves another stream; absent: as long as it is kept. */
  readonly freshForMs?: number
  /**
   * Present: the page is to have its hash. An answer with this one was read before, and is parsed only when its entries
   * are accessed.
   */
  readonly known?: string
  /** Throws `no_room` (cancelled) instead of waiting for memory. */
  readonly ifRoom?: boolean
  /**
   * For a page that is fetched ahead: a good answer stays bytes until its entries are accessed, since events take three
   * times as much memory. An answer that is no page fails then.
   */
  readonly ahead?: boolean
}

/** A load of consecutive pages ends with the page that reaches one of these. */
export interface LoadBounds {
  /** Of the answers of the API. Parsed pages take about four times as much memory. */
  readonly bytes: number
  /** Unseen ones. */
  readonly events: number
  readonly pages: number
}

/** Where events go. A sink serves many streams at once, and one pump at most for each stream. */
export interface Sink {
  readonly name: string
  /** The destination, for people, without secrets. */
  readonly address: string
  /**
   * Whether the sink gets an event; absent if it gets all. Pure: the result for an event is always the same. A filtered
   * event is neither delivered nor a dead letter, but counts as seen by the stream.
   */
  readonly wants?: (event: Event) => boolean
  /** When a load is full, in place of the pump's own bounds. */
  readonly load?: Partial<LoadBounds>
  /** Called by a pump once it has something for the sink. Throws Failure. */
  open(stream: Stream, options: OpenOptions, signal: AbortSignal): Promise<OpenStream>
  /** Checks whether the destination would take events of these zones, without leaving anything there. Throws Failure. */
  check(signal: AbortSignal, zones?: readonly number[]): Promise<SinkCheck | undefined>
  /** Closes writers and connections. May be called twice, and before first use. */
  close(): Promise<void>
}

/** What a check has found out about a destination that would take events, for people. */
export interface SinkCheck {
  readonly found?: string
  /** What could not be tested without an event. */
  readonly untested?: string
  /** What will soon be a problem. */
  readonly note?: string
}

export interface OpenOptions {
  /**
   * Whether the store knows of any event that this sink has taken. If so, a few refusals are caused by the events, not by
   * the sink. A sink calls it only when it needs the answer; absent means no.
   */
  hasTaken?(): Promise<boolean>
  /**
   * By which an event is too old for the destination: the earlier of the API's time and this host's. Undefined while the
   * API's is not known: no event is too old then. Absent where the API is not asked: this host's.
   */
  readonly ageNow?: (() => number | undefined) | undefined
  /** A refusal needs no other event as evidence: the events are dead letters already, or a person tries one. */
  readonly refusalsStand?: boolean
  /** For sinks whose deliveries have numbers; absent where a person only tries a sink. */
  readonly objects?: NumberedObjects
}

/**
 * The numbers of a stream's objects, as the store has them. A sink writes each delivery as the object after the last one,
 * only where that number is free, and never changes one. What holds the number already was written by an earlier try:
 * the delivery then adopts it, takes none of its events, and is repeated with the next number.
 */
export interface NumberedObjects {
  readonly storeId: string
  /** Number of the last committed object of the stream, 0 before the first. */
  last(): number
  /**
   * Rejects with `fence_lost` where the store no longer has the fence and the commit that this pump builds on. Call it
   * right before an object is written: it cannot be taken back.
   */
  confirm(): Promise<void>
  /** Whether the sink had this name before `state rename-sink`: an object of an earlier try may have it. */
  wasNamed(name: string): Promise<boolean>
}

/**
 * A sink that can take back what was not committed: each delivery returns the lengths of the parts that it changed, the
 * checkpoint keeps them, and every pump brings the sink back to them before it delivers.
 */
export interface TransactionalSink extends Omit<Sink, 'open'> {
  /**
   * Called by a pump once it has something for the sink: brings what the sink holds of the stream back to its committed
   * lengths, so that nothing stays that was not committed, and opens the stream. May pass over what it has found in order
   * and what nothing is added to, until `hasUncommitted` has looked. Throws Failure.
   */
  reconcile(stream: Stream, known: Reconciliation, signal: AbortSignal): Promise<OpenStream>
  /** Looks whether the sink holds something of a stream beyond its committed lengths. Throws Failure. */
  hasUncommitted(stream: Stream, known: CommittedLengths): Promise<boolean>
  /** Absent where days are kept for ever. */
  readonly retention?: Retention
}

/** Whose parts: of a store, and of its sink by this name and the former ones. */
export interface PartsOwner {
  readonly store: string
  readonly names: readonly string[]
}

/** Lets a sink's old days be removed. Parts of other owners are neither told nor touched. Throws Failure. */
export interface Retention {
  readonly limits: RetentionLimits
  stored(own: PartsOwner, signal: AbortSignal): Promise<StoredDay[]>
  /**
   * Removes a zone's day; the caller holds its stream. Awaits `mark` before the first part goes, and does not call it
   * where there is none. What a call has left, the next one removes. Returns the bytes removed.
   */
  remove(place: ZoneDay, own: PartsOwner, mark: () => Promise<void>, signal: AbortSignal): Promise<number>
}

export type AnySink = Sink | TransactionalSink

/** What a store holds of a stream's parts. */
export interface CommittedLengths {
  readonly storeId: string
  readonly committed: readonly CommittedPart[]
  /**
   * Parts that were opened before and have no committed length stay as they are: the store had their lengths, and has
   * dropped them. By the times in the names of parts, ms; absent: none.
   */
  readonly knownSinceMs?: number
}

/** What a stream is brought back to: the committed lengths that were read in the step that took the fence. */
export interface Reconciliation extends CommittedLengths {
  /**
   * Rejects with `fence_lost` when another pump took the stream over. Call it after another writer's part was locked
   * and before it is cut: this pump may have been suspended since it read the committed lengths, and another pump may
   * have appended to that part meanwhile.
   */
  confirm(): Promise<void>
  /**
   * Present where the day can no longer be read: what is cut then does not come back. `lost` records that whole lines are
   * about to be cut, and where their copy is.
   */
  readonly unreadable?: { lost(copy: string): Promise<void> }
}

export interface OpenStream {
  /**
   * Resolves when the sink is responsible for every event that is not in `refusals`, or only for those in
   * `partial.taken`; `partial.failure` then says why. Called again only after the delivery before it was committed.
   * `goesOn`: more events of the same scan follow; a sink that sends bodies may keep back those that do not fill one.
   * Throws Failure when the sink is responsible for no event; what was sent before that may arrive twice, except in
   * transactional sinks, which take it back first.
   */
  deliver(events: readonly Event[], signal: AbortSignal, goesOn?: boolean): Promise<Delivery>
  /** Releases the stream. May be called twice; never rejects. */
  close(): Promise<void>
}

/** Event → one line of text, without a line break. Pure: the line depends on the event and the configuration only. */
export interface Format {
  readonly name: string
  /** MIME type of lines joined by line breaks. */
  readonly mediaType: string
  /** Throws for an event that has no form in this format; the event becomes a dead letter (`unmappable`). */
  encode(event: Event): string
  /** Reads a line that this format wrote back to the identity of its event; undefined for any other text. */
  identify(line: string): Identity | undefined
  /** The same in columns. A format as a sink is given it always has them: those of the native one, where it has none. */
  readonly table?: Table
  /** Reads such a line back to what its event can be rebuilt from. Absent where lines do not hold enough for that. */
  readBack?(line: string): KeptEvent | undefined
}

/** Lines of parts, in order, and the end of each part. */
export type Pieces = AsyncIterable<PartLines | PartEnd>

/** The parts of a file sink, or the objects of a sink such as s3. Only reads. Throws Failure. */
export interface SinkFiles {
  /** The sink may ship an event twice: at least once. */
  readonly mayRepeat?: boolean
  /** Those that differ from what is committed. `sizes`: of objects, by number. */
  compare(
    stream: Stream,
    storeId: string,
    checkpoint: Checkpoint | undefined,
    sizes: readonly number[],
  ): Promise<readonly PartReport[]>
  /** What they hold up to these committed lengths, or up to this number; objects are read whole that `committed` names. */
  committed(place: ZoneDay, storeId: string, of: CommittedFiles): Pieces
  /** A line that no format can read has no identity. */
  identify(line: string): Identity | undefined
}

/** Columns in place of the members of a line. They are only added, at the end, and none changes its type. */
export interface Table {
  /** Name of the format and version of the columns, as each object has it. */
  readonly layout: string
  readonly columns: readonly Column[]
  /**
   * Gives the values of an event to the leaves of the columns. Returns the bytes of their texts, about. Throws for an event
   * that has no form in this format; what only does not fit its column is null there.
   */
  row(event: Event, leaves: readonly Leaf[]): number
  /** The line that such values stand for. Columns at the end may lack. */
  line(cells: readonly Cell[]): string
}

export interface Column {
  readonly name: string
  readonly type: ColumnType
  /** Where the value is in the object of a line; default: the member of that name. */
  readonly at?: readonly string[]
}

/**
 * `json`: any value as JSON text. `time`: microseconds of an ISO 8601 text, which another column has whole. `map`: texts by
 * any names, of which these have JSON as text.
 */
export type ColumnType =
  | 'text'
  | 'json'
  | 'time'
  | 'int32'
  | 'int64'
  | { readonly list: ColumnType }
  | { readonly struct: readonly Column[] }
  | { readonly map: readonly string[] }

export type Scalar = null | string | number | bigint

/**
 * A column, or a member of one, that has no members itself, as Parquet keeps it. Those of a table are in the order in
 * which its columns name them; a map has two, its names and its texts.
 */
export interface Leaf {
  /**
   * Called for each row, and once more for each further element of a list or map; no list is in another one.
   *
   * @param level - Parquet's definition level: how much of what may be absent on the way to the value is there
   * @param repeat - Parquet's repetition level: 1 for a further element
   */
  add(value: Scalar, level: number, repeat: Repeat): void
}

export type Repeat = 0 | 1

export type Cell = Scalar | readonly Cell[] | { readonly [name: string]: Cell }
