import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { unescape } from 'node:querystring'
import { Failure } from '../domain/failure.ts'
import type { Notice } from '../domain/notices.ts'
import type { Secret } from '../domain/text/secret.ts'
import type { Clock } from '../ports/process.ts'
import { createDispatcher } from '../transport/dispatcher.ts'
import { exchange, isSuccess } from '../transport/exchange.ts'

/** Somewhere that is told of problems. */
export interface Place {
  readonly name: string
  readonly kind: PlaceKind
  readonly url: Secret
  readonly routingKey?: Secret | undefined
}

/** Who speaks. */
interface Speaker {
  readonly host: string
  /** Of the state: the processes of a fleet tell of the same problems. */
  readonly storeId: string
  readonly version: string
  /** Of pagerduty. */
  readonly routingKey: string | undefined
}

const mostText = 1_500

const heads = { begins: 'shieldlog: a problem', lasts: 'shieldlog: still a problem', over: 'shieldlog: over' }

function textOf({ status, text, remedy }: Notice): string {
  return [`${heads[status]}. ${text}`, remedy]
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, mostText)
}

function inJson(value: object) {
  return { body: JSON.stringify(value), headers: { 'content-type': 'application/json' } }
}

/** The body, and its headers, that each kind of place understands. */
const bodies = {
  json: (notice: Notice, { host, version }: Speaker) =>
    inJson({ ...notice, since: new Date(notice.sinceMs).toISOString(), sinceMs: undefined, host, version }),
  slack: (notice: Notice) => inJson({ text: textOf(notice).replaceAll(/[&<>]/g, (sign) => escapes[sign]!) }),
  discord: (notice: Notice) => inJson({ content: textOf(notice), allowed_mentions: { parse: [] } }),
  teams: (notice: Notice) =>
    inJson({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            type: 'AdaptiveCard',
            version: '1.4',
            body: [{ type: 'TextBlock', text: textOf(notice), wrap: true }],
          },
        },
      ],
    }),
  ntfy: (notice: Notice) => ({
    body: textOf(notice),
    headers: { title: heads[notice.status], priority: notice.status === 'over' ? 'default' : 'high' },
  }),
  pagerduty: ({ status, key, text, sinceMs }: Notice, { host, storeId, routingKey }: Speaker) =>
    inJson({
      routing_key: routingKey,
      event_action: status === 'over' ? 'resolve' : 'trigger',
      dedup_key: createHash('sha256').update(`${storeId} ${key}`).digest('hex'),
      payload: {
        summary: text.slice(0, 1024),
        source: host,
        severity: 'error',
        timestamp: new Date(sinceMs).toISOString(),
      },
    }),
} satisfies Record<string, (notice: Notice, speaker: Speaker) => Pick<Message, 'body' | 'headers'>>

type PlaceKind = keyof typeof bodies

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

const timeoutMs = 10_000

interface Message {
  readonly method: 'GET' | 'POST'
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Added to the path of the address. */
  readonly more?: string
}

/** Requests to the places, and the heartbeat. Its addresses are secrets, and in no message. */
export function createMessenger(clock: Clock, version: string) {
  const dispatcher = createDispatcher({ connections: 2 })

  async function send(what: string, url: Secret, message: Message, signal: AbortSignal): Promise<void> {
    const { method, body, headers, more = '' } = message
    const { origin, pathname, search, username, password } = new URL(url.reveal())
    // As a parsed URL has them: unlike decodeURIComponent, `unescape` takes a lone `%` as it is.
    const login = Buffer.from(`${unescape(username)}:${unescape(password)}`).toString('base64')
    const request = {
      origin,
      path: pathname.replace(/\/$/, more === '' ? '/' : '') + more + search,
      method,
      headers: {
        'user-agent': `shieldlog/${version}`,
        ...(username + password !== '' && { authorization: `Basic ${login}` }),
        ...headers,
      },
      body,
    }
    const limits = { what, timeoutMs, maxBytes: 65_536, clock }
    const { status } = await exchange(dispatcher, request, limits, signal)
    if (isSuccess(status)) return
    url.reread()
    throw new Failure('retry', 'rejected', `${what}: answered ${status}; check its url`)
  }

  return {
    /** Throws Failure unless the place accepts the notice. */
    async tell(place: Place, notice: Notice, storeId: string, signal: AbortSignal): Promise<void> {
      const { name, kind, url, routingKey } = place
      const speaker = { host: hostname(), version, storeId, routingKey: routingKey?.reveal() }
      await send(`notify ${name}`, url, { method: 'POST', ...bodies[kind](notice, speaker) }, signal)
    },
    /** In the form of healthchecks.io: with reasons why something is wrong, its address with `/fail`. */
    async beat(url: Secret, reasons: readonly string[], signal: AbortSignal): Promise<void> {
      const fail = { method: 'POST', body: reasons.join('\n'), more: '/fail' } as const
      await send('heartbeat', url, reasons.length === 0 ? { method: 'GET' } : fail, signal)
    },
    close: () => dispatcher.destroy(),
  }
}
