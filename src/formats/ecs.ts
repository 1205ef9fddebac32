import type { Event, Identity } from '../domain/event/event.ts'
import { isObject } from '../domain/text/json.ts'
import {
  categoryOf,
  dispositionOf,
  filled,
  isoCountryOf,
  messageOf,
  partsOf,
  severityOf,
} from './describe-event.ts'
import { type Include, included, jsonLine, lineFormat, rawOnly, rawText, readObject } from './line.ts'

const version = '9.4.0'
const dataset = 'bunny_shield.event'
const product = 'bunny_shield'

/** Elastic Common Schema, https://www.elastic.co/docs/reference/ecs. Values without an ECS field are in `bunny.shield`. */
export const createEcsFormat = lineFormat({
  name: 'ecs',
  defaults: rawOnly,
  encode,
  identify,
})

function encode(event: Event, include: Include): string {
  if (event.time === undefined) throw new Error('the event has no time, and ECS requires @timestamp')
  const { action, client, request, response, rule, severity } = event
  const url = partsOf(request?.url)
  const category = categoryOf(event)
  const source = sourceOf(event)
  return jsonLine({
    '@timestamp': event.time,
    ecs: { version },
    message: messageOf(event),
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
      original: rawText(event, include),
    },
    log: filled({ level: severity }),
    rule: filled({ id: rule?.id, name: rule?.message, ruleset: rule?.group, category }),
    http: filled({
      request: filled({ id: request?.id, method: request?.method }),
      response: response && { status_code: response.status },
    }),
    url: request?.url === undefined ? undefined : urlOf(request.url, url),
    user_agent: filled({ original: request?.userAgent }),
    source,
    client: source,
    related: filled({
      ip: client?.ip === undefined ? undefined : [client.ip],
      hosts: url === undefined ? undefined : [url.host],
    }),
    observer: {
      vendor: 'bunny.net',
      product: 'Bunny Shield',
      type: 'waf',
      geo: event.pop === undefined ? undefined : { name: event.pop },
    },
    network: { protocol: 'http', direction: 'inbound', type: networkTypeOf(client?.ip) },
    bunny: { shield: ownOf(event, include) },
  })
}

/** Elasticsearch refuses a document whose `ip` is masked, so only a whole address becomes an `ip`. */
function sourceOf(event: Event): object | undefined {
  const { address, ip, asn } = event.client ?? {}
  const country = isoCountryOf(event)
  return filled({
    address,
    ip,
    as: asn === undefined ? undefined : { number: asn },
    geo: country === undefined ? undefined : { country_iso_code: country },
  })
}

function urlOf(original: string, url: ReturnType<typeof partsOf>): object {
  if (url === undefined) return { original }
  const { scheme, host, port, path, query } = url
  return { original, full: original, scheme, domain: host, port, path, query }
}

function networkTypeOf(ip: string | undefined): string | undefined {
  if (ip === undefined) return undefined
  return ip.includes(':') ? 'ipv6' : 'ipv4'
}

function ownOf(event: Event, include: Include): object {
  const { action, client, match, zone } = event
  return {
    zone: { id: zone.id, name: zone.name === '' ? undefined : zone.name },
    // As received, because `event.action` is in lower case.
    action,
    country: isoCountryOf(event) === undefined ? client?.country : undefined,
    match: match && filled({ operator: match.operator, value: match.value }),
    ...included(event, include),
  }
}

function identify(line: string): Identity | undefined {
  const read = readObject(line)
  const [event, ecs, time] = [read?.['event'], read?.['ecs'], read?.['@timestamp']]
  if (!isObject(event) || !isObject(ecs) || event['dataset'] !== dataset) return undefined
  const { id } = event
  return typeof id === 'string' && id !== '' && typeof time === 'string' ? { id, time } : undefined
}
