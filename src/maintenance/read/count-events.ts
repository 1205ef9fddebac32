import type { Event } from '../../domain/event/event.ts'
import { sumOf } from '../../domain/text/counts.ts'

export const countedBy = ['rule', 'address', 'country', 'asn', 'url', 'action'] as const
export type CountedBy = (typeof countedBy)[number]

export interface CountedRow {
  readonly key: string
  /** What else is known of it, as of its first event. */
  readonly what?: string | undefined
  readonly count: number
}

/** Counts events by one of their properties; `-` stands for events without it. */
export class EventCounter {
  readonly #by: CountedBy
  readonly #rows = new Map<string, { readonly what: string | undefined; count: number }>()

  constructor(by: CountedBy) {
    this.#by = by
  }

  get events(): number {
    return sumOf([...this.#rows.values()], 'count')
  }

  add(event: Event): void {
    const key = keys[this.#by](event) ?? '-'
    const row = this.#rows.get(key)
    if (row === undefined) this.#rows.set(key, { count: 1, what: whats[this.#by]?.(event) })
    else row.count++
  }

  /** The most frequent first. */
  rows(most: number): CountedRow[] {
    return [...this.#rows]
      .map(([key, row]) => ({ key, ...row }))
      .toSorted((one, other) => other.count - one.count || (one.key < other.key ? -1 : 1))
      .slice(0, most)
  }
}

type Text = (event: Event) => string | undefined

const asn: Text = ({ client }) => (client?.asn === undefined ? undefined : `AS${client.asn}`)

const keys: Readonly<Record<CountedBy, Text>> = {
  rule: ({ rule }) => rule?.id,
  address: ({ client }) => client?.address,
  country: ({ client }) => client?.country,
  asn,
  // A query differs from request to request.
  url: ({ request }) => request?.url?.replace(/[?#].*$/s, ''),
  action: ({ action }) => action,
}

const whats: Partial<Record<CountedBy, Text>> = {
  rule: ({ rule }) => rule?.message,
  address: (event) => [event.client?.country, asn(event)].filter(Boolean).join(' '),
}
