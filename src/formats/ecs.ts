import { partsOf } from '../domain/event/request-url.ts'
import type { Event, Identity } from '../domain/event/event.ts'
import { isObject } from '../domain/text/json.ts'
import { categoryOf, countryOf, dispositionOf, filled, messageOf, severityOf } from './describe-event.ts'
import { type Constants, identityIn, jsonLine, lineFormat, type Parts, readObject } from './line.ts'

const version = '9.4.0'
const dataset = 'bunny_shield.event'
const product = 'bunny_shield'

/** Elastic Common Schema, https://www.elastic.co/docs/reference/ecs. Values without an ECS field are in `bunny.shield`. */
export const createEcsFormat = lineFormat({
  name: 'ecs',
  encode,
  identify,
})

function encode(event: Event, { labels, log, raw, set = {} }: Parts): string {
  if (event.time === undefined) throw new Error('the event has no time, and ECS requires @timestamp')
  const { action, client, match, request, response, rule, severity, zone } = event
  const url = partsOf(request?.url)
  const category = categoryOf(event)
  const country = countryOf(event)
  // Elasticsearch refuses a document whose `ip` is masked, so only a whole address becomes an `ip`.
  const source = filled({
    address: client?.address,
    ip: client?.ip,
    as: filled({ number: client?.asn }),
    geo: filled({ country_iso_code: country.iso }),
  })
  return jsonLine({
    '@timestamp': event.time,
    ecs: { version },
    message: messageOf(event),
    labels: membersOf(set, (name) => (name.startsWith(stream) ? undefined : name)),
    data_stream: membersOf(set, (name) => (name.startsWith(stream) ? name.slice(stream.length) : undefined)),
    tags: ['bunny-shield', 'forwarded'],
    event: {
      id: event.id,
      kind: 'alert',
      // In ECS the category web has no type `denied`, but network has: events have all categories of a web application
      // firewall.
      category: ['web', 'intrusion_detection', 'network'],
      type: dispositionOf(action).ecs,
      action: action?.toLowerCase(),
      severity: severityOf(event).ecs,
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
      ip: client?.ip === undefined ? undefined : [client.ip],
      hosts: url && [url.host],
    }),
    observer: {
      vendor: 'bunny.net',
      product: 'Bunny Shield',
      type: 'waf',
      geo: filled({ name: event.pop }),
    },
    network: { protocol: 'http', direction: 'inbound', type: networkTypeOf(client?.ip) },
    bunny: {
      shield: {
        zone: { id: zone.id, name: zone.name === '' ? undefined : zone.name },
        // As received, because `event.action` is in lower case.
        action,
        country: country.other,
        match: filled(match),
        labels,
        log,
      },
    },
  })
}

const stream = 'data_stream.'

function membersOf(set: Constants, nameOf: (name: string) => string | undefined): Constants | undefined {
  return filled(
    Object.fromEntries(
      Object.entries(set).flatMap(([name, value]) => {
        const member = nameOf(name)
        return member === undefined ? [] : [[member, value]]
      }),
    ),
  )
}

function networkTypeOf(ip: string | undefined): string | undefined {
  if (ip === undefined) return undefined
  return ip.includes(':') ? 'ipv6' : 'ipv4'
}

function identify(line: string): Identity | undefined {
  const read = readObject(line)
  const [event, ecs, time] = [read?.['event'], read?.['ecs'], read?.['@timestamp']]
  if (!isObject(event) || !isObject(ecs) || event['dataset'] !== dataset) return undefined
  return identityIn(event['id'], time)
}
