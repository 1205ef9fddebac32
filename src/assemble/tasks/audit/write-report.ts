import type { ReportView } from '../../../domain/status/report-view.ts'
import { writeReport } from '../../../server/report/write-report.ts'
import { version } from '../../version.ts'

/** A report of an audit as one HTML file. */
export function auditReport(report: Omit<ReportView, 'version'>): string {
  return writeReport({ ...report, version })
}
