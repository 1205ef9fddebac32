import type { Event } from '../domain/event/event.ts'

/** Listed values pass; with `not`, all others do. */
type ListOrNot = readonly (string | number)[] | { readonly not: readonly (string | number)[] }

/** Which events a sink gets, as configured. */
export interface Routing {
  readonly where?:
    | {
        readonly zones?: ListOrNot | undefined
        readonly actions?: ListOrNot | undefined
        readonly severities?: ListOrNot | undefined
        readonly rules?: ListOrNot | undefined
        readonly countries?: ListOrNot | undefined
      }
    | undefined
  readonly sample?: Readonly<Record<string, number>> | undefined
}

export type Wants = (event: Event) => boolean

/**
 * Decides whether a sink gets an event; undefined if it gets all. Pure: a re-read, a backfill and a resend decide as
 * the first read did, on any host.
 */
export function wantsOf({ where = {}, sample = {} }: Routing): Wants | undefined {
  const tests: Wants[] = [
    ...listed(where.zones, ({ zone }) => [String(zone.id), zone.name]),
    ...listed(where.actions, ({ action }) => [action]),
    ...listed(where.severities, ({ severity }) => [severity]),
    ...listed(where.rules, ({ rule }) => [rule?.id]),
    ...listed(where.countries, ({ client }) => [client?.country]),
    ...sampled(sample),
  ]
  return tests.length === 0 ? undefined : (event) => tests.every((passes) => passes(event))
}

/** An event without the value passes no list, and every `not`. */
function listed(
  values: ListOrNot | undefined,
  valuesOf: (event: Event) => readonly (string | undefined)[],
): Wants[] {
  if (values === undefined) return []
  const [list, isListed] = 'not' in values ? [values.not, false] : [values, true]
  const known = new Set(list.map((value) => keyOf(String(value))))
  return [
    (event) => valuesOf(event).some((value) => value !== undefined && known.has(keyOf(value))) === isListed,
  ]
}

const fingerprints = 2 ** 64

/** Fingerprints are evenly distributed, and attackers cannot choose them. */
function sampled(sample: Readonly<Record<string, number>>): Wants[] {
  const shares = new Map(Object.entries(sample).map(([action, share]) => [keyOf(action), share]))
  if (shares.size === 0) return []
  return [
    ({ action, fingerprint }) => {
      const share = action === undefined ? undefined : shares.get(keyOf(action))
      return share === undefined || Number(fingerprint) / fingerprints < share
    },
  ]
}

function keyOf(text: string): string {
  return text.trim().toLowerCase()
}
