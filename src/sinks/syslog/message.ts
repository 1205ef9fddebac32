import type { Event } from '../../domain/event/event.ts'

/** Facility local0, because the events are from another service, not from this host. */
const facility = 16
/** Syslog severities (RFC 5424, section 6.2.1) by the name of an event's severity. */
const severities: Readonly<Record<string, number>> = { critical: 2, error: 3, warning: 4, notice: 5 }
const informational = 6
const app = 'shieldlog'
/** No process id: it would differ from try to try. No message id, no structured data. */
const header = `${app} - - -`

/**
 * A syslog message of RFC 5424. It depends on the event and the configuration only: the time is that of the event, and
 * there is no byte order mark, which many readers of CEF treat as text.
 */
export function messageOf(event: Event, line: string, hostname: string): string {
  const { severity, time } = event
  const priority = facility * 8 + (severities[severity ?? ''] ?? informational)
  return `<${priority}>1 ${timestampOf(time)} ${hostname} ${header} ${line}`
}

/** At most six digits of a second are allowed. */
function timestampOf(time: string | undefined): string {
  return time?.replace(/(\.\d{6})\d+Z$/, '$1Z') ?? '-'
}

/** Octet counting (RFC 6587, section 3.4.1): a line break in a message cannot begin another one. */
export function framed(message: Buffer): Buffer[] {
  return [Buffer.from(`${message.length} `), message]
}
