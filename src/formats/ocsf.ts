import type { Event } from '../domain/event/event.ts'
import { describe, filled, methods } from './describe-event.ts'
import type { Column, ColumnType } from '../ports/delivery.ts'
import { identifyBy, jsonLine, lineFormat, type Parts } from './line.ts'
import { tableOf } from './table.ts'

const classUid = 4002
const product = 'Bunny Shield'
/** The captions of the schema: OCSF allows an own text beside a number only where it is 99, Other. */
const actions = ['Unknown', 'Allowed', 'Denied', 'Observed']
const severities = ['Unknown', 'Informational', 'Low', 'Medium', 'High', 'Critical']
const otherActivity = 99
/** An observable of the type IP address. */
const observed = (value: string) => ({ name: 'src_endpoint.ip', type_id: 2, value })

/**
 * OCSF 1.8.0, class HTTP Activity with the profile security_control, https://schema.ocsf.io. Values without an
 * attribute are in `unmapped`.
 */
export const createOcsfFormat = lineFormat({
  name: 'ocsf',
  encode: (event, parts) => jsonLine(members(event, parts)),
  table: (partsOf) => tableOf({ layout: 'ocsf/1', columns }, members, partsOf),
  identify: identifyBy('metadata.uid', 'metadata.original_time', {
    class_uid: classUid,
    'metadata.product.name': product,
  }),
})

function members(event: Event, { labels, log, other, raw, set }: Parts): object {
  if (event.timeMs === undefined) throw new Error('the event has no time, and OCSF requires one')
  const { action, client, match, request, response, rule, severity, zone } = event
  const { url, message, country, otherCountry, disposition, severity: level } = describe(event)
  const { ocsf } = disposition
  const method = request?.method?.toUpperCase()
  const activity = method === undefined ? 0 : methods.indexOf(method) + 1 || otherActivity
  // A rule needs an id or a name, and an endpoint more than a country.
  const hasRule = rule?.id !== undefined || rule?.message !== undefined
  const hasSource = client?.address !== undefined || client?.ip !== undefined
  return {
    class_uid: classUid,
    category_uid: 4,
    activity_id: activity,
    activity_name: activity === otherActivity ? request?.method : undefined,
    type_uid: classUid * 100 + activity,
    time: event.timeMs,
    severity_id: level.ocsf,
    severity: captioned(severity, severities[level.ocsf]),
    message,
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
    action: captioned(action, actions[ocsf.action]),
    disposition_id: ocsf.disposition,
    disposition: captioned(action, ocsf.caption),
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
      http_method: activity === otherActivity ? undefined : method,
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
          location: filled({ country }),
        }
      : undefined,
    dst_endpoint: {
      uid: String(zone.id),
      hostname: url?.host,
      svc_name: zone.name || undefined,
    },
    observables: client?.ip === undefined ? undefined : [observed(client.ip)],
    raw_data: raw && jsonLine(raw),
    unmapped: filled({
      ...set,
      // The words of the service, whatever the captions make of them.
      action,
      severity,
      pop: event.pop,
      asn: hasSource ? undefined : client?.asn,
      country: hasSource ? otherCountry : client?.country,
      rule_group: hasRule ? undefined : rule?.group,
      match: hasRule ? undefined : filled(match),
      labels,
      log,
      other,
    }),
  }
}

const texts = (names: string): Column[] => names.split(' ').map((name) => ({ name, type: 'text' }))
const group = (name: string, ...struct: Column[]): Column => ({ name, type: { struct } })
const int32 = (name: string): Column => ({ name, type: 'int32' })
const textList: ColumnType = { list: 'text' }

/** As the schema of OCSF nests them, in the order of the line. Columns are only added, at the end. */
const columns: readonly Column[] = [
  ...['class_uid', 'category_uid', 'activity_id'].map(int32),
  ...texts('activity_name'),
  { name: 'type_uid', type: 'int64' },
  { name: 'time', type: 'int64' },
  int32('severity_id'),
  ...texts('severity message'),
  group(
    'metadata',
    ...texts('version'),
    group('product', ...texts('name vendor_name')),
    { name: 'profiles', type: textList },
    ...texts('uid original_time tenant_uid event_code'),
  ),
  int32('action_id'),
  ...texts('action'),
  int32('disposition_id'),
  ...texts('disposition'),
  group('firewall_rule', ...texts('uid name category match_location'), {
    name: 'match_details',
    type: textList,
  }),
  group(
    'http_request',
    ...texts('uid http_method'),
    group('url', ...texts('url_string scheme hostname'), int32('port'), ...texts('path query_string')),
    ...texts('user_agent'),
  ),
  group('http_response', int32('code')),
  group(
    'src_endpoint',
    ...texts('ip name'),
    group('autonomous_system', { name: 'number', type: 'int64' }),
    group('location', ...texts('country')),
  ),
  group('dst_endpoint', ...texts('uid hostname svc_name')),
  {
    name: 'observables',
    type: { list: { struct: [...texts('name'), int32('type_id'), ...texts('value')] } },
  },
  ...texts('raw_data'),
  // A map: its names vary, and a struct would be another type in each object.
  { name: 'unmapped', type: { map: ['asn', 'match', 'labels', 'log', 'other'] } },
]

/** The text beside the number of a word; a number without a caption has the word itself. */
function captioned(word: string | undefined, caption: string | undefined): string | undefined {
  return word === undefined ? undefined : (caption ?? word)
}
