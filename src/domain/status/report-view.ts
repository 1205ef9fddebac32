import type { FileAudit, StreamAudit } from '../audit-report.ts'
import type { DayView } from './status-views.ts'

/** What the audit found of one route and day, in words. */
export interface ReportResult {
  readonly text: string
  readonly tone: 'good' | 'bad' | 'warn' | 'dim'
}

/** A row of the table of all routes and days. */
export interface ReportRow {
  readonly zone: number
  readonly name: string
  readonly sink: string
  readonly day: string
  readonly result: ReportResult
  /** Counts of events; absent where the day was not compared. */
  readonly counts?: Pick<StreamAudit, 'listed' | 'ledger' | 'missing' | 'extra' | 'notYetDue'>
  /** Of files; absent where they were not read. */
  readonly lines?: number
  /** Lines in the folder that are not the sink's; absent if there are none. */
  readonly foreign?: number
}

/** One day of a route with its figures. */
export interface ReportDay {
  readonly view: DayView
  readonly result: ReportResult
  /** Absent where the API could not be read. */
  readonly stream?: StreamAudit
  /** What the API listed, and when its last page was read. */
  readonly listed?: DayView['ledger'] & { readonly at: string }
  readonly file?: FileAudit
}

/** What `audit --report` writes. Instants are ISO 8601. */
export interface ReportView {
  /** Address of the API. */
  readonly api: string
  readonly beganAt: string
  readonly endedAt: string
  readonly version: string
  /** Where it was made. */
  readonly host: string
  /** The file of the configuration; absent where there was none. */
  readonly configuration?: string
  readonly level: 'well' | 'attention' | 'bad'
  readonly headline: string
  /** What was compared. */
  readonly scope: string
  /** Lines of files were compared. */
  readonly isDeep: boolean
  /** What could not be compared or repaired. */
  readonly failures: readonly string[]
  readonly rows: readonly ReportRow[]
  readonly days: readonly ReportDay[]
}
