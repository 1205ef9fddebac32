import type { Event } from '../domain/event/event.ts'
import { describe, filled } from './describe-event.ts'
import { type Constants, identifyBy, jsonLine, lineFormat, type Parts } from './line.ts'

const version = '9.4.0'
const dataset = 'bunny_shield.event'
const product = 'bunny_shield'

/** Elastic Common Schema, https://www.elastic.co/docs/reference/ecs. Values without an ECS field are in `bunny.shield`. */
export const createEcsFormat = lineFormat({
  name: 'ecs',
  encode,
  identify: identifyBy('event.id', '@timestamp', { 'event.dataset': dataset }),
})

function encode(event: Event, { labels, log, other, raw, set = {} }: Parts): string {
  if (event.time === undefined) throw new Error('the event has no time, and ECS requires @timestamp')
  const { action, client, match, request, response, rule, severity, zone } = event
  const { url, category, message, country, otherCountry, disposition, severity: level } = describe(event)
  const { ip } = client ?? {}
  // Elasticsearch refuses a document whose `ip` is masked, so only a whole address becomes an `ip`.
  const source = filled({
    address: client?.address,
    ip,
    as: filled({ number: client?.asn }),
    geo: filled({ country_iso_code: country }),
  })
  return jsonLine({
    '@timestamp': event.time,
    ecs: { version },
    message,
    labels: membersOf(set, /^(?!data_stream\.)/),
    data_stream: membersOf(set, /^data_stream\./),
    tags: ['bunny-shield', 'forwarded'],
    event: {
      id: event.id,
      kind: 'alert',
      // In ECS the category web has no type `denied`, but network has: events have all categories of a web application
      // firewall.
      category: ['web', 'intrusion_detection', 'network'],
      type: disposition.ecs,
      action: action?.toLowerCase(),
      severity: level.ecs,
      dataset,
      module: product,
      provider: product,
      original: raw && jsonLine(raw),
    },
    log: filled({ level: severity }),
    rule: filled({ id: rule?.id, name: rule?.message, ruleset: rule?.group, category }),
    http: filled({
      request: filled({ id: request?.id, method: request?.method }),
      response: response && { status_code: response.status },
    }),
    url: filled({
      original: request?.url,
      full: url && request?.url,
      scheme: url?.scheme,
      domain: url?.host,
      port: url?.port,
      path: url?.path,
      query: url?.query,
    }),
    user_agent: filled({ original: request?.userAgent }),
    source,
    client: source,
    related: filled({
      ip: ip === undefined ? undefined : [ip],
      hosts: url && [url.host],
    }),
    observer: {
      vendor: 'bunny.net',
      product: 'Bunny Shield',
      type: 'waf',
      geo: filled({ name: event.pop }),
    },
    network: {
      protocol: 'http',
      direction: 'inbound',
      type: ip === undefined ? undefined : ip.includes(':') ? 'ipv6' : 'ipv4',
    },
    bunny: {
      shield: {
        zone: { id: zone.id, name: zone.name || undefined },
        // As received, because `event.action` is in lower case.
        action,
        country: otherCountry,
        match: filled(match),
        labels,
        log,
        other,
      },
    },
  })
}

/** The constants whose names begin so, without that beginning. */
function membersOf(set: Constants, beginning: RegExp): Constants | undefined {
  const found = Object.entries(set).filter(([name]) => beginning.test(name))
  return filled(Object.fromEntries(found.map(([name, value]) => [name.replace(beginning, ''), value])))
}
