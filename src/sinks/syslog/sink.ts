import type { Delivery, Refusal } from '../../domain/event/delivery.ts'
import type { Event } from '../../domain/event/event.ts'
import { cancelled } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import type { Format, OpenStream, Sink } from '../../ports/delivery.ts'
import { mapEvent } from '../mapped.ts'
import { createSlots } from '../slots.ts'
import { connect, type Connection, type Receiver } from './connection.ts'
import { framed, messageOf } from './message.ts'
import { asPersonMust, Reconnection } from './reconnection.ts'

export interface SyslogSinkOptions extends Receiver {
  readonly name: string
  readonly hostname: string
  readonly maxMessageBytes: number
}

export interface SyslogSinkDeps {
  readonly format: Format
  readonly clock: Clock
  /** Returns [0, 1), for the jitter of waits. */
  readonly random?: () => number
}

/** Small compared with the memory of a page; large enough that a page needs only a few writes. */
const chunkBytes = 262_144

/**
 * Writes syslog messages (RFC 5424) with octet counting (RFC 6587) to one connection. The protocol has no
 * acknowledgement: an event counts as delivered when the operating system has accepted its message and the connection
 * is still open. Messages accepted before the connection broke may be lost; an interrupted delivery is sent again as a
 * whole.
 */
export function createSyslogSink(options: SyslogSinkOptions, deps: SyslogSinkDeps): Sink {
  const { name, host, port, protocol } = options
  const { clock, format, random = Math.random } = deps
  const address = `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const what = `sink ${name} (${address})`
  const turns = createSlots(1)
  const connection = new Reconnection((signal) => connect(options, what, clock, signal), { clock, random })
  let isClosed = false

  async function send(events: readonly Event[], refusals: Refusal[], signal: AbortSignal): Promise<number> {
    let [sent, waiting]: [number, Buffer[]] = [0, []]
    let to: Connection | undefined
    const flush = async () => {
      if (waiting.length === 0) return
      to ??= await connection.open(signal)
      const bytes = Buffer.concat(waiting)
      waiting = []
      await to.write(bytes, signal)
      sent += bytes.length
    }
    let held = 0
    for (const event of events) {
      const frame = frameOf(event, refusals)
      for (const piece of frame) held += piece.length
      waiting.push(...frame)
      if (held < chunkBytes) continue
      await flush()
      held = 0
    }
    await flush()
    return sent
  }

  function frameOf(event: Event, refusals: Refusal[]): Buffer[] {
    const mapped = mapEvent(event, format)
    if ('refusal' in mapped) {
      refusals.push(mapped.refusal)
      return []
    }
    const message = Buffer.from(messageOf(event, mapped.line, options.hostname))
    if (message.length <= options.maxMessageBytes) return framed(message)
    const answer = `the message has ${message.length} bytes, and maxMessageBytes is ${options.maxMessageBytes}`
    refusals.push({ event, reason: 'too_large', answer })
    return []
  }

  async function deliver(events: readonly Event[], signal: AbortSignal): Promise<Delivery> {
    if (isClosed || signal.aborted) throw cancelled(signal.reason)
    const giveBack = await turns.take(signal)
    try {
      if (isClosed) throw cancelled()
      const refusals: Refusal[] = []
      const bytes = await send(events, refusals, signal)
      return { refusals, committed: [], bytes }
    } finally {
      giveBack()
    }
  }

  const stream: OpenStream = { deliver, close: () => Promise.resolve() }
  return {
    name,
    address,
    open: () => Promise.resolve(stream),
    async check(signal) {
      const tried = await connect(options, what, clock, signal).catch((error: unknown) => {
        throw asPersonMust(error)
      })
      const { found } = tried
      tried.close()
      return { found, untested: 'delivery not tested' }
    },
    async close() {
      isClosed = true
      connection.close()
    },
  }
}
