import type { FileAudit, StreamAudit } from '../../domain/audit-report.ts'

/** Minutes, events and lines that all reports of one audit name together. */
const mostDetails = 200_000
/** So many of each a report names in any case. */
const least = 20

/**
 * Bounds the memory of an audit of many streams that differ in all minutes: once the budget is used up, a report
 * keeps its counts and the first details only, and says so.
 */
export class DetailBudget {
  #left: number

  constructor(details = mostDetails) {
    this.#left = details
  }

  ofStream(stream: StreamAudit): StreamAudit {
    const minutes = this.#some(stream.minutes)
    const missingEvents = this.#some(stream.missingEvents)
    if (minutes === stream.minutes && missingEvents === stream.missingEvents) return stream
    return { ...stream, minutes, missingEvents, isShortened: true }
  }

  ofFile(file: FileAudit): FileAudit {
    const minutes = this.#some(file.minutes)
    const badLines = this.#some(file.badLines)
    if (minutes === file.minutes && badLines === file.badLines) return file
    return { ...file, minutes, badLines, isShortened: true }
  }

  #some<Detail>(details: readonly Detail[]): readonly Detail[] {
    const most = Math.max(least, this.#left)
    this.#left -= Math.min(details.length, most)
    return details.length <= most ? details : details.slice(0, most)
  }
}
