import type { Event } from '../../domain/event/event.ts'
import { sumOf } from '../../domain/text/counts.ts'

export const countedBy = ['rule', 'address', 'country', 'asn', 'url', 'action'] as const
export type CountedBy = (typeof countedBy)[number]

export interface CountedRow {
  readonly key: string
  /** What else is known of it: a rule's message, an address's country and network. */
  readonly what?: string
  readonly count: number
}

/** Counts events by one of their properties; `-` stands for events without it. */
export class EventCounter {
  readonly #by: CountedBy
  readonly #rows = new Map<string, { what?: string; count: number }>()

  constructor(by: CountedBy) {
    this.#by = by
  }

  get events(): number {
    return sumOf([...this.#rows.values()], 'count')
  }

  add(event: Event): void {
    const key = keys[this.#by](event) ?? '-'
    const row = this.#rows.get(key)
    if (row !== undefined) row.count++
    else this.#rows.set(key, { count: 1, ...whatOf(event, this.#by) })
  }

  /** The most frequent first. */
  rows(most: number): CountedRow[] {
    return [...this.#rows]
      .map(([key, row]) => ({ key, ...row }))
      .toSorted((one, other) => other.count - one.count || (one.key < other.key ? -1 : 1))
      .slice(0, most)
  }
}

const keys: Readonly<Record<CountedBy, (event: Event) => string | undefined>> = {
  rule: ({ rule }) => rule?.id,
  address: ({ client }) => client?.address,
  country: ({ client }) => client?.country,
  asn: ({ client }) => (client?.asn === undefined ? undefined : `AS${client.asn}`),
  // A query differs from request to request.
  url: ({ request }) => request?.url?.replace(/[?#].*$/s, ''),
  action: ({ action }) => action,
}

function whatOf({ rule, client }: Event, by: CountedBy): { what?: string } {
  if (by === 'rule') return rule?.message === undefined ? {} : { what: rule.message }
  if (by !== 'address' || client === undefined) return {}
  const from = [client.country, client.asn === undefined ? undefined : `AS${client.asn}`].filter(Boolean)
  return from.length === 0 ? {} : { what: from.join(' ') }
}
