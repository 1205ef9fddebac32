import { beforeAll, expect, test } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { exactJson } from '../../src/domain/text/decode.ts'
import { isObject, type JsonObject } from '../../src/domain/text/json.ts'
import { formats } from '../../src/formats/registry.ts'
import { cefPartsOf, cefText } from './cef-fields.ts'
import { eventsOf, placeOfEveryKind } from './every-kind.ts'
import type { SinkSettings } from './intake.ts'
import { deadLettersOf } from './place.ts'
import { linesPath, newTenant, rowsIn, startVictoriaLogs } from './servers/victorialogs.ts'
import { expectShown, type Row } from './shown.ts'

// VictoriaLogs decodes the protocols of other destinations: what a query shows is compared with every event.

let server: Awaited<ReturnType<typeof startVictoriaLogs>>

beforeAll(async () => {
  server = await startVictoriaLogs()
})

interface Decoder {
  sink(url: string): SinkSettings
  /** The fields of a row, besides the time of its event. */
  shown(event: Event): JsonObject
  /** Of a second, which the protocol carries beside the event. */
  readonly digits?: number
  /** Syslog has no headers: its messages are told apart by their host. */
  readonly hostname?: string
  /** The reason of the dead letter that an event becomes. */
  isDeadLetter?(event: Event): string | undefined
  /** An acknowledged event that no query shows. */
  isDropped?(event: Event): boolean
  /** An event that is not sent since it is too old. */
  isSkipped?(event: Event): boolean
}

type FormatName = keyof typeof formats
const lineOf = (event: Event, format: FormatName = 'native') => formats[format]().encode(event)
const membersOf = (event: Event, format: FormatName = 'native') =>
  exactJson(lineOf(event, format)) as JsonObject
/** With so many digits of a second, as the server writes them: without needless zeros. */
const timeOf = (time: string, digits = 9) =>
  time.replace(/\d+Z$/, (fraction) => `${fraction.slice(0, -1).slice(0, digits)}Z`).replace(/\.?0*Z$/, 'Z')

/** The server acknowledges lines that are longer, and objects that have more fields, but does not keep them. */
const isLong = (event: Event) => event.id === 'JSON without end in parameters'
const hasManyFields = (event: Event) => event.id === 'headers without end'

const withoutTime = ({ time }: Event) => (time === undefined ? 'unmappable' : undefined)

/** The address says which members become time and message. */
const lineDecoder: Pick<Decoder, 'shown' | 'isDropped'> = {
  shown(event) {
    const { time: _time, rule, ...members } = membersOf(event)
    const { message = null, ...named } = isObject(rule) ? rule : {}
    return { ...members, rule: named, _msg: message }
  },
  isDropped: (event) => isLong(event) || hasManyFields(event),
}

/** A field of each message, beside those of its text. */
function messageFields({ severity }: Event): JsonObject {
  const [level, number] = levels[severity ?? ''] ?? (['info', 6] as const)
  const ids = { proc_id: '-', msg_id: '-', app_name: 'shieldlog' }
  const words = { facility: '16', facility_keyword: 'local0', format: 'rfc5424', level }
  return { ...ids, ...words, severity: String(number), priority: String(128 + number) }
}

const levels: Readonly<Record<string, readonly [string, number]>> = {
  critical: ['critical', 2],
  error: ['error', 3],
  warning: ['warning', 4],
  notice: ['notice', 5],
}

function cefFields(event: Event): JsonObject {
  const { header, extension } = cefPartsOf(lineOf(event, 'cef'))
  const names = 'version device_vendor device_product device_version device_event_class_id name severity'
  const fields = names.split(' ').map((name, index) => [name, cefText(header[index]!)])
  // The server does not unescape the last field.
  const values = extension.map(([key, text], index) => [
    key,
    index === extension.length - 1 ? text : cefText(text),
  ])
  return { cef: { ...Object.fromEntries(fields), extension: Object.fromEntries(values) } }
}

interface LogRecord {
  readonly severityNumber: number
  readonly severityText?: string
  readonly body: { readonly stringValue: string }
  readonly attributes: readonly { readonly key: string; readonly value: JsonObject }[]
}

/** Attributes and the rest of a record, beside those of resource and scope. */
function otlpFields(event: Event): JsonObject {
  const { severityNumber, severityText, body, attributes } = membersOf(event, 'otlp') as unknown as LogRecord
  const values = attributes.map(({ key, value }) => [key, Object.values(value)[0]!] as const)
  // The server names a number that has no text.
  const words: Readonly<Record<number, string>> = { 9: 'Info', 13: 'Warn' }
  return {
    ...Object.fromEntries(values),
    'service.name': 'bunny-shield',
    'scope.name': 'shieldlog',
    'scope.version': 'unknown',
    event_name: 'bunny.shield.event',
    severity_number: severityNumber,
    severity_text: severityText ?? words[severityNumber] ?? '',
    _msg: body.stringValue,
  }
}

const longMessages = ['JSON without end in parameters', 'headers without end', 'names without end']

function syslogDecoder(format: 'cef' | 'native', framing: 'octet' | 'newline'): Decoder {
  const place = { host: '127.0.0.1', protocol: 'tcp', format, framing }
  return {
    hostname: `${format}-${framing}`,
    digits: 6,
    sink: () => ({ ...place, port: server.syslogPort }),
    shown: (event) => ({
      ...messageFields(event),
      ...(format === 'cef' ? cefFields(event) : { _msg: lineOf(event) }),
    }),
    isDeadLetter: ({ id }) => (format === 'native' && longMessages.includes(id) ? 'too_large' : undefined),
  }
}

const dayMs = 86_400_000

const decoders: Readonly<Record<string, Decoder>> = {
  ndjson: { sink: (url) => ({ preset: 'ndjson', url: `${url}${linesPath}` }), ...lineDecoder },
  'ndjson in ecs': {
    sink: (url) => ({
      preset: 'ndjson',
      format: 'ecs',
      url: `${url}/insert/jsonline?_time_field=@timestamp&_msg_field=message&_stream_fields=event.action`,
    }),
    shown(event) {
      const { '@timestamp': _time, message = null, ...members } = membersOf(event, 'ecs')
      return { ...members, _msg: message }
    },
    isDeadLetter: withoutTime,
    isDropped: isLong,
  },
  'ndjson in ocsf': {
    digits: 3,
    sink: (url) => ({
      preset: 'ndjson',
      format: 'ocsf',
      url: `${url}/insert/jsonline?_time_field=time&_msg_field=message&_stream_fields=activity_id`,
    }),
    shown(event) {
      const { time: _time, message = null, ...members } = membersOf(event, 'ocsf')
      return { ...members, _msg: message }
    },
    isDeadLetter: withoutTime,
    isDropped: isLong,
  },
  sumologic: { sink: (url) => ({ preset: 'sumologic', url: `${url}${linesPath}` }), ...lineDecoder },
  'splunk-hec': {
    sink: (url) => ({ preset: 'splunk-hec', url, token: 'any' }),
    shown: (event) => ({
      host: event.zone.name,
      source: 'shieldlog',
      sourcetype: 'bunny:shield',
      event: membersOf(event),
    }),
    isDropped: hasManyFields,
  },
  datadog: {
    digits: 3,
    sink: (url) => ({ preset: 'datadog', url: `${url}/insert/datadog/api/v2/logs`, apiKey: 'any' }),
    shown(event) {
      const { action, rule, id, severity = 'info', zone } = event
      const words = [action, rule?.id, rule?.message].filter((part) => part !== undefined).join(' ')
      return {
        _msg: `{"message":${JSON.stringify(words || id)},"bunny":${lineOf(event)}}`,
        status: severity,
        hostname: zone.name,
        service: 'bunny-shield',
        ddsource: 'bunny-shield',
      }
    },
    isSkipped: ({ timeMs }) => timeMs !== undefined && timeMs < Date.now() - (dayMs / 24) * 18,
  },
  loki: {
    sink: (url) => ({ preset: 'loki', url: `${url}/insert`, bearerToken: 'any' }),
    shown(event) {
      const { id, time = '', zone, severity, rule, client, pop, request } = event
      return {
        ...membersOf(event),
        job: 'shieldlog',
        hour: time.slice(0, 13),
        shield_zone: String(zone.id),
        log_id: id,
        rule_id: rule?.id ?? '',
        country: client?.country ?? '',
        asn: String(client?.asn ?? ''),
        request_id: request?.id ?? '',
        severity: severity ?? '',
        pop: pop ?? '',
      }
    },
    isDeadLetter: (event) => withoutTime(event) ?? (isLong(event) ? 'too_large' : undefined),
    isDropped: hasManyFields,
  },
  otlp: {
    sink: (url) => ({ preset: 'otlp', url: `${url}/insert/opentelemetry` }),
    shown: otlpFields,
  },
  'syslog, cef by octets': syslogDecoder('cef', 'octet'),
  'syslog, cef by lines': syslogDecoder('cef', 'newline'),
  'syslog, native by octets': syslogDecoder('native', 'octet'),
  'syslog, native by lines': syslogDecoder('native', 'newline'),
}

test.each(Object.entries(decoders))('%s: every event is shown whole', async (_preset, decoder) => {
  const { hostname, isDeadLetter, isDropped, isSkipped } = decoder
  const headers = hostname === undefined ? newTenant() : {}
  const type = hostname === undefined ? { type: 'http', headers } : { type: 'syslog', hostname }
  const place = await placeOfEveryKind({ ...type, ...decoder.sink(server.url) })
  const { code, stderr } = await place.once()
  const all = eventsOf(place)
  const unsent = all.filter((event) => isDeadLetter?.(event) !== undefined)
  expect(code, stderr).toBe(unsent.length > 0 ? 1 : 0)
  expect((await deadLettersOf(place)).map(({ id, reason }) => `${id} ${reason}`).toSorted()).toEqual(
    unsent.map((event) => `${event.id} ${isDeadLetter!(event)}`).toSorted(),
  )
  const isShown = (event: Event) => isDropped?.(event) !== true && isSkipped?.(event) !== true
  const events = all.filter((event) => !unsent.includes(event) && isShown(event))
  const query = hostname === undefined ? '*' : `hostname:=${hostname}`
  const rows = async () => (await rowsIn(server.url, headers, query)).map(fieldsOf)
  await expectShown(rows, events, (event) => ({
    ...decoder.shown(event),
    ...(hostname !== undefined && { hostname }),
    ...(event.time !== undefined && { _time: timeOf(event.time, decoder.digits) }),
  }))
})

function fieldsOf({ _stream, _stream_id, _msg = '', ...row }: Row): Row {
  return _msg.startsWith('missing _msg field') ? row : { ...row, _msg }
}
