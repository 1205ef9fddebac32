import type { Attributes } from '@opentelemetry/api'
import type { SpanFacts } from '../domain/span.ts'

const names: Readonly<Record<Exclude<keyof SpanFacts, 'server'>, string>> = {
  zone: 'shieldlog.zone',
  day: 'shieldlog.day',
  sink: 'shieldlog.sink',
  priority: 'shieldlog.priority',
  events: 'shieldlog.events',
  unwantedMs: 'shieldlog.unwanted_ms',
  outcome: 'shieldlog.outcome',
}

/** Span attributes: names of OpenTelemetry's conventions where they exist, otherwise names with shieldlog's prefix. */
export function attributesOf({ server, ...facts }: SpanFacts): Attributes {
  const attributes = server === undefined ? {} : serverAttributes(server)
  for (const [fact, name] of Object.entries(names)) {
    const value = facts[fact as keyof typeof names]
    if (value !== undefined) attributes[name] = value
  }
  return attributes
}

/** Empty for an address that is no URL, such as the path of a file sink. */
function serverAttributes(address: string): Attributes {
  if (!URL.canParse(address)) return {}
  const { hostname, port, protocol } = new URL(address)
  if (hostname === '') return {}
  const number = port === '' ? defaultPorts[protocol] : Number(port)
  return { 'server.address': hostname, ...(number !== undefined && { 'server.port': number }) }
}

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
