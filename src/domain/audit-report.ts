import type { Identity } from './event/event.ts'
import { untimedMinute } from './event/seen.ts'
import type { Stream } from './stream.ts'
import { sumOf } from './text/counts.ts'

/** Start of a minute of event time, ISO 8601; null for events without a time. */
export function minuteText(minute: number): string | null {
  return minute === untimedMinute ? null : new Date(minute * 60_000).toISOString()
}

/** A minute in which both sides differ. */
export interface MinuteReport {
  readonly minute: string | null
  readonly ledger: number
  readonly missing: number
  readonly extra: number
  /** Of files. */
  readonly lines?: number
}

export interface ListedMinute extends MinuteReport {
  readonly listed: number
  readonly notYetDue: number
}

/** What a comparison of a zone, day and sink with its ledger tells, of the API and of files. Counts are events. */
interface Compared extends Stream {
  readonly name: string
  readonly isEqual: boolean
  readonly ledger: number
  /** Of the ledger's events, those that the sink refused and that wait in the store. */
  readonly deadLetters: number
  readonly dropped: number
  /** Of the ledger's events, those that `where` and `sample` of the sink leave out. */
  readonly filtered: number
  readonly missing: number
  /** The fingerprints were dropped, so that only counts and hashes were compared. */
  readonly isByCounts: boolean
  readonly minutes: readonly MinuteReport[]
  /** All parts that differ. Foreign ones, of which no lines are missing, make only the files differ. */
  readonly parts: readonly PartReport[]
  /** Not all differing minutes, events and lines are named: the audit found too many in all. */
  readonly isShortened?: true
}

/** How the ledger compares with what the API lists; `missing` is listed by the API, not in the ledger, and due. */
export interface StreamAudit extends Compared {
  readonly listed: number
  /** In the ledger, and not listed by the API. */
  readonly extra: number
  /** Newer than the stream's caught-up time, of a day that is open or that a running process has not read whole. */
  readonly notYetDue: number
  readonly caughtUpAt?: string
  readonly minutes: readonly ListedMinute[]
  /** Of the events that were delivered, those that the destination says it dropped, without saying which. */
  readonly lost: number
  /** Of the ledger's events, those that the destination takes no more, since they are too old. */
  readonly skipped: number
  /** The first of the missing events, as far as their ids are known. */
  readonly missingEvents: readonly Identity[]
  readonly repaired?: number
}

/**
 * What is wrong with one line of a part:
 * - `unreadable`: no line that any format wrote.
 * - `unknown`: a line of an event that the ledger does not have, or that waits as a dead letter.
 * - `doubled`: an earlier line has the same event.
 * - `torn`: the committed part of the file ends within it.
 * - `damaged`: from here on the part cannot be read.
 */
export type LineProblem = 'unreadable' | 'unknown' | 'doubled' | 'torn' | 'damaged'

export interface LineReport extends Partial<Identity> {
  readonly part: string
  /** From 1. */
  readonly line: number
  readonly problem: LineProblem
  readonly why?: string
}

/** Parts in a stream's folder that the store does not know as the sink's own: readers of the folder find their lines too. */
export interface ForeignLines {
  /** For example `written by sink archive`. */
  readonly why: string
  readonly parts: number
  readonly lines: number
}

/**
 * How the parts of a file sink compare with the ledger, line by line; `missing` has no line, and needs one: it does not
 * wait as a dead letter, was not dropped, and is wanted.
 */
export interface FileAudit extends Compared {
  /** Whole lines up to the committed lengths. */
  readonly lines: number
  /** Lines whose event an earlier one has, of a sink that may ship an event twice: no difference. Absent if none. */
  readonly repeated?: number
  /** Lines that should not be there, by what is wrong with them. */
  readonly problems: Readonly<Record<LineProblem, number>>
  /** The first of them, by part and number. */
  readonly badLines: readonly LineReport[]
  /** What else is in the folder, by the reason why it is not the sink's. */
  readonly foreign: readonly ForeignLines[]
  /** Events without a line that a repair delivered again, and lines that it took into the ledger. */
  readonly restored?: number
  readonly kept?: number
}

export function foreignLinesOf({ foreign }: Pick<FileAudit, 'foreign'>): number {
  return sumOf(foreign, 'lines')
}

/** Whether a repair has something to do: it never removes foreign parts. */
export function isRepairable(file: FileAudit): boolean {
  const bad = Object.values(file.problems).some((count) => count > 0)
  const differs = bad || file.minutes.length > 0 || file.missing > 0
  return !file.isEqual && (differs || !file.parts.every(isSettled))
}

/** What the latest audit of a stream found, as the store keeps it. Counts are events. */
export interface AuditRecord extends Pick<
  StreamAudit,
  'isEqual' | 'listed' | 'ledger' | 'missing' | 'extra' | 'notYetDue' | 'isByCounts'
> {
  readonly atMs: number
  /** Of the program that compared. */
  readonly version: string
}

/**
 * How a part of a file sink, or an object in a bucket, differs from what the store knows:
 * - `missing`: a committed length but no file; if this path does not know its writer, it may be on another host.
 * - `short`: committed lines are gone.
 * - `longer`: lines beyond the committed length, which the stream's next pump would cut.
 * - `changed`: an object has another size than the one that was committed.
 * - `unknown`: a part of this sink without a committed length, or an object beyond the last committed number.
 * - `foreign`: not touched; `why` gives the reason.
 */
export interface PartReport {
  readonly part: string
  readonly problem: 'missing' | 'short' | 'longer' | 'changed' | 'unknown' | 'foreign'
  /** Committed length, or size of an object; absent where nothing was committed. */
  readonly expectedBytes?: number
  /** Uncompressed length, or size of an object; absent where there is no file or its length is unknown. */
  readonly foundBytes?: number
  readonly why: string
  /** This path does not know its writer: the part may be on the disk of another host. */
  readonly isElsewhere?: boolean
  /** Number of a missing or changed object. */
  readonly object?: number
  /** A sink that may ship an event twice has left it; its events are shipped in other objects. */
  readonly isRepeat?: true
  /** A repair has counted what it held as not delivered: it stays missing, and no event lacks for it. */
  readonly isRepaired?: boolean
}

/** Nothing to repair: no lines are missing for it, and no repair removes it. */
export function isSettled({ problem, isRepaired, isRepeat }: PartReport): boolean {
  return problem === 'foreign' || isRepaired === true || isRepeat === true
}

/** Whole lines of a part, in order, or what was made of each. */
export interface PartLines<Line = string> {
  readonly part: string
  /** Number of the first of them, from 1. */
  readonly from: number
  readonly lines: readonly Line[]
}

/** Result of reading a part up to its committed length, or to its end. */
export interface PartEnd {
  readonly part: string
  /** Whole lines, and the uncompressed bytes that they take. */
  readonly wholeLines: number
  readonly wholeBytes: number
  /** The text after them ends within a line. */
  readonly isTorn: boolean
  readonly isCompressed: boolean
  /** Why it could not be read to its end. */
  readonly damage?: string
}
