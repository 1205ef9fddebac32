import { partsOf } from '../domain/event/request-url.ts'
import type { Event, Identity } from '../domain/event/event.ts'
import { isObject } from '../domain/text/json.ts'
import { countryOf, dispositionOf, filled, messageOf, severityOf } from './describe-event.ts'
import { identityIn, jsonLine, lineFormat, type Parts, readObject } from './line.ts'

const classUid = 4002
const product = 'Bunny Shield'
const activities = new Map(
  ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE', 'PATCH'].map((name, index) => [
    name,
    index + 1,
  ]),
)
/** The captions of the schema: OCSF allows an own text beside a number only where it is 99, Other. */
const actions = ['Unknown', 'Allowed', 'Denied', 'Observed']
const severities = ['Unknown', 'Informational', 'Low', 'Medium', 'High', 'Critical']
const dispositions = new Map([
  [1, 'Allowed'],
  [2, 'Blocked'],
  [15, 'Detected'],
  [16, 'No Action'],
  [17, 'Logged'],
  [22, 'Captcha'],
  [23, 'Challenge'],
])
const other = 99
/** Type of an observable that is an IP address. */
const ipObservable = 2

/**
 * OCSF 1.8.0, class HTTP Activity with the profile security_control, https://schema.ocsf.io. Values without an
 * attribute are in `unmapped`.
 */
export const createOcsfFormat = lineFormat({
  name: 'ocsf',
  encode,
  identify,
})

function encode(event: Event, { labels, log, raw, set }: Parts): string {
  if (event.timeMs === undefined) throw new Error('the event has no time, and OCSF requires one')
  const { action, client, match, request, response, rule, severity, zone } = event
  const method = request?.method?.toUpperCase()
  const activity = method === undefined ? 0 : (activities.get(method) ?? other)
  const { ocsf } = dispositionOf(action)
  const severityId = severityOf(event).ocsf
  const url = partsOf(request?.url)
  const country = countryOf(event)
  // A rule needs an id or a name, and an endpoint more than a country.
  const hasRule = rule?.id !== undefined || rule?.message !== undefined
  const hasSource = client?.address !== undefined || client?.ip !== undefined
  return jsonLine({
    class_uid: classUid,
    category_uid: 4,
    activity_id: activity,
    activity_name: activity === other ? request?.method : undefined,
    type_uid: classUid * 100 + activity,
    time: event.timeMs,
    severity_id: severityId,
    severity: textOf(severityId, severities[severityId], severity),
    message: messageOf(event),
    metadata: {
      version: '1.8.0',
      product: { name: product, vendor_name: 'bunny.net' },
      profiles: ['security_control'],
      uid: event.id,
      original_time: event.time,
      tenant_uid: String(zone.id),
      event_code: rule?.id,
    },
    action_id: ocsf.action,
    action: textOf(ocsf.action, actions[ocsf.action], action),
    disposition_id: ocsf.disposition,
    disposition: textOf(ocsf.disposition, dispositions.get(ocsf.disposition), action),
    firewall_rule: hasRule
      ? {
          uid: rule?.id,
          name: rule?.message,
          category: rule?.group,
          match_location: match?.operator,
          match_details: match?.value === undefined ? undefined : [match.value],
        }
      : undefined,
    // The class requires a request or a response.
    http_request: {
      uid: request?.id,
      http_method: activity === other ? undefined : method,
      url: filled({
        url_string: request?.url,
        scheme: url?.scheme,
        hostname: url?.host,
        port: url?.port,
        path: url?.path,
        query_string: url?.query,
      }),
      user_agent: request?.userAgent,
    },
    http_response: response && { code: response.status },
    // A masked address is the name.
    src_endpoint: hasSource
      ? {
          ip: client?.ip,
          name: client?.address,
          autonomous_system: filled({ number: client?.asn }),
          location: filled({ country: country.iso }),
        }
      : undefined,
    dst_endpoint: {
      uid: String(zone.id),
      hostname: url?.host,
      svc_name: zone.name === '' ? undefined : zone.name,
    },
    observables:
      client?.ip === undefined
        ? undefined
        : [{ name: 'src_endpoint.ip', type_id: ipObservable, value: client.ip }],
    raw_data: raw && jsonLine(raw),
    unmapped: filled({
      ...set,
      // The words of the service, whatever the captions make of them.
      action,
      severity,
      pop: event.pop,
      asn: hasSource ? undefined : client?.asn,
      country: hasSource ? country.other : client?.country,
      rule_group: hasRule ? undefined : rule?.group,
      match: hasRule ? undefined : filled(match),
      labels,
      log,
    }),
  })
}

function textOf(id: number, caption: string | undefined, word: string | undefined): string | undefined {
  if (word === undefined) return undefined
  return id === other ? word : caption
}

function identify(line: string): Identity | undefined {
  const read = readObject(line)
  const metadata = read?.['metadata']
  if (read?.['class_uid'] !== classUid || !isObject(metadata)) return undefined
  const { uid: id, original_time: time, product: made } = metadata
  if (!isObject(made) || made['name'] !== product) return undefined
  return identityIn(id, time)
}
