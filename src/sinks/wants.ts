import type { Event } from '../domain/event/event.ts'
import { partsOf } from '../domain/event/request-url.ts'
import { networks } from '../domain/text/network.ts'
import { matchesPattern } from '../domain/text/pattern.ts'

/** Listed values pass; with `not`, all others do. */
type ListOrNot = readonly (string | number)[] | { readonly not: readonly (string | number)[] }

/** Lists of values, by field. An event must pass every one. */
export type Lists = { readonly [Field in FilterField]?: ListOrNot | undefined }

/** Which events a sink gets, as configured. */
export interface Routing {
  /** With `any`: one of these, too. */
  readonly where?: (Lists & { readonly any?: readonly Lists[] | undefined }) | undefined
  /** Shares, from 0 to 1. */
  readonly sample?: { readonly actions?: Shares | undefined; readonly rules?: Shares | undefined } | undefined
}

type Shares = Readonly<Record<string, number>>
type Wants = (event: Event) => boolean

type Matcher = (listed: readonly string[]) => (value: string) => boolean
type Field = readonly [of: (event: Event) => readonly (string | number | undefined)[], matcher: Matcher]

/** What an event has of a filter's field, and whether a value is one of those that are listed. */
const fields = {
  zones: [({ zone }) => [zone.id, zone.name], words],
  actions: [({ action }) => [action], words],
  severities: [({ severity }) => [severity], words],
  rules: [({ rule }) => [rule?.id], words],
  countries: [({ client }) => [client?.country], words],
  hosts: [({ request }) => [partsOf(request?.url)?.host], hosts],
  paths: [({ request }) => [partsOf(request?.url)?.path], exactPatterns],
  methods: [({ request }) => [request?.method], words],
  asns: [({ client }) => [client?.asn], words],
  addresses: [({ client }) => [client?.address], networks],
  userAgents: [({ request }) => [request?.userAgent], patterns],
} satisfies Record<string, Field>
export type FilterField = keyof typeof fields

/**
 * Decides whether a sink gets an event; undefined if it gets all. Pure: a re-read, a backfill and a resend decide as
 * the first read did, on any host.
 */
export function wantsOf({ where: { any, ...lists } = {}, sample = {} }: Routing): Wants | undefined {
  const tests = [...testsOf(lists), ...sampled(sample)]
  const ways = any?.map((each) => testsOf(each))
  if (ways !== undefined) tests.push((event) => ways.some((way) => way.every((passes) => passes(event))))
  return tests.length === 0 ? undefined : (event) => tests.every((passes) => passes(event))
}

/** An event without the value passes no list, and every `not`. */
function testsOf(lists: Lists): Wants[] {
  return (Object.keys(lists) as FilterField[]).flatMap((name) => {
    const list = lists[name]
    if (list === undefined) return []
    const [values, isListed] = 'not' in list ? [list.not, false] : [list, true]
    const [of, matcher]: Field = fields[name]
    const matches = matcher(values.map(String))
    const isKnown = (value: string | number | undefined) => value !== undefined && matches(String(value))
    return [(event: Event) => of(event).some(isKnown) === isListed]
  })
}

function words(listed: readonly string[]): ReturnType<Matcher> {
  const keys = new Set(listed.map(keyOf))
  return (value) => keys.has(keyOf(value))
}

/** In any case. */
function patterns(listed: readonly string[]): ReturnType<Matcher> {
  const matches = exactPatterns(listed.map((pattern) => pattern.toLowerCase()))
  return (value) => matches(value.toLowerCase())
}

/** A final dot changes no host. */
function hosts(listed: readonly string[]): ReturnType<Matcher> {
  const plain = (host: string) => host.replace(/\.$/, '')
  const matches = patterns(listed.map(plain))
  return (value) => matches(plain(value))
}

function exactPatterns(listed: readonly string[]): ReturnType<Matcher> {
  return (value) => listed.some((pattern) => matchesPattern(value, pattern))
}

const fingerprints = 2 ** 64

/**
 * Of several shares that concern an event the smallest counts. Fingerprints are evenly distributed, and attackers
 * cannot choose them.
 */
function sampled(sample: NonNullable<Routing['sample']>): Wants[] {
  return (['actions', 'rules'] as const).flatMap((name) => {
    const shares = new Map(Object.entries(sample[name] ?? {}).map(([word, share]) => [keyOf(word), share]))
    const isInShare = (event: Event) => {
      const [value] = fields[name][0](event)
      const share = value === undefined ? undefined : shares.get(keyOf(value))
      return share === undefined || Number(event.fingerprint) / fingerprints < share
    }
    return shares.size === 0 ? [] : [isInShare]
  })
}

function keyOf(text: string): string {
  return text.trim().toLowerCase()
}
