import { createHash } from 'node:crypto'
import type { Notice } from '../domain/notices.ts'

/** What a place gets, besides its address. */
export interface Sent {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Who speaks. */
export interface Speaker {
  readonly host: string
  /** Of the state: the processes of a fleet tell of the same problems. */
  readonly storeId: string
  readonly version: string
  /** Of pagerduty. */
  readonly routingKey?: string
}

const json = { 'content-type': 'application/json' }
const mostText = 1_500

const heads = { begins: 'shieldlog: a problem', lasts: 'shieldlog: still a problem', over: 'shieldlog: over' }

function textOf({ status, text, remedy }: Notice): string {
  return [`${heads[status]}. ${text}`, remedy]
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, mostText)
}

function inJson(value: object): Sent {
  return { body: JSON.stringify(value), headers: json }
}

/** The body that each kind of place understands. */
export const bodies = {
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
  pagerduty: ({ status, key, text, sinceMs }: Notice, { host, storeId, routingKey = '' }: Speaker) =>
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
} satisfies Record<string, (notice: Notice, speaker: Speaker) => Sent>

export type PlaceKind = keyof typeof bodies

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
