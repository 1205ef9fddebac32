import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { createInTurn, orAborted } from '../../domain/promises.ts'
import type { OpenStream, Sink } from '../../ports/delivery.ts'
import type { SinkDeps } from '../deps.ts'
import { lineOf } from '../lines.ts'
import { createReconnection } from '../reconnection.ts'
import type { SyslogSinkConfig } from './config.ts'
import { connect, type Connection, type Receiver } from './connection.ts'

export type SyslogSinkOptions = Receiver &
  Pick<SyslogSinkConfig, 'name' | 'framing' | 'hostname' | 'maxMessageBytes'>

type SyslogSinkDeps = Pick<SinkDeps, 'format' | 'clock' | 'random'>

/** Small compared with the memory of a page; large enough that a page needs only a few writes. */
const chunkBytes = 262_144
const lineBreak = Buffer.from('\n')

/**
 * Writes syslog messages (RFC 5424), framed by octet counting or line breaks (RFC 6587), to one connection. The protocol has no
 * acknowledgement: an event counts as delivered when the operating system has accepted its message and the connection
 * is still open. Messages accepted before the connection broke may be lost; an interrupted delivery is sent again as a
 * whole.
 */
export function createSyslogSink(options: SyslogSinkOptions, deps: SyslogSinkDeps): Sink {
  const { name, host, port, protocol } = options
  const { clock, format } = deps
  const address = `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const what = `sink ${name} (${address})`
  const inTurn = createInTurn()
  const connection = createReconnection((signal) => connect(options, what, clock, signal), deps)

  async function send(events: readonly Event[], refusals: Refusal[], signal: AbortSignal): Promise<number> {
    let sent = 0
    // One connection for all: what an earlier one took may be lost.
    let to: Connection | undefined
    for (const bytes of chunksOf(events, refusals)) {
      to ??= await connection.open(signal)
      await to.write(bytes, signal)
      sent += bytes.length
    }
    return sent
  }

  function* chunksOf(events: readonly Event[], refusals: Refusal[]): Generator<Buffer> {
    let [waiting, held]: [Buffer[], number] = [[], 0]
    for (const event of events) {
      const message = messageIn(event, refusals)
      if (message === undefined) continue
      // No line has a line break, so none of a client begins another message in either framing.
      if (options.framing === 'octet') waiting.push(Buffer.from(`${message.length} `), message)
      else waiting.push(message, lineBreak)
      held += message.length
      if (held < chunkBytes) continue
      yield Buffer.concat(waiting)
      ;[waiting, held] = [[], 0]
    }
    if (held > 0) yield Buffer.concat(waiting)
  }

  function messageIn(event: Event, refusals: Refusal[]): Buffer | undefined {
    const line = lineOf(event, format, refusals)
    if (line === undefined) return undefined
    const message = Buffer.from(messageOf(event, line, options.hostname))
    if (message.length <= options.maxMessageBytes) return message
    const answer = `the message has ${message.length} bytes, and maxMessageBytes is ${options.maxMessageBytes}`
    return void refusals.push({ event, reason: 'too_large', answer })
  }

  function deliver(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    const delivered = inTurn(async () => {
      const refusals: Refusal[] = []
      const bytes = await send(events, refusals, signal)
      return { refusals, committed: [], bytes }
    })
    return orAborted(delivered, signal)
  }

  const stream: OpenStream = { deliver, close: () => Promise.resolve() }
  return {
    name,
    address,
    open: () => Promise.resolve(stream),
    async check(signal) {
      const tried = await connect(options, what, clock, signal)
      const { found } = tried
      tried.close()
      const note = `syslog has no answers: look in the receiver whether a test event can be read there; if not, it needs another framing than ${options.framing}`
      return { found, note, untested: 'delivery not tested' }
    },
    close: async () => connection.close(),
  }
}

/** Facility local0, because the events are from another service, not from this host. */
const facility = 16
/** Syslog severities (RFC 5424, section 6.2.1) by the name of an event's severity. */
const severities: Readonly<Record<string, number>> = { critical: 2, error: 3, warning: 4, notice: 5 }
const informational = 6
/** No process id: it would differ from try to try. No message id, no structured data. */
const header = 'shieldlog - - -'

/**
 * A syslog message of RFC 5424. It depends on the event and the configuration only: the time is that of the event, and
 * there is no byte order mark, which many readers of CEF treat as text.
 */
function messageOf(event: Event, line: string, hostname: string): string {
  const { severity, time } = event
  const priority = facility * 8 + (severities[severity ?? ''] ?? informational)
  return `<${priority}>1 ${timestampOf(time)} ${hostname} ${header} ${line}`
}

/** At most six digits of a second are allowed. */
function timestampOf(time: string | undefined): string {
  return time?.replace(/(\.\d{6})\d+Z$/, '$1Z') ?? '-'
}
