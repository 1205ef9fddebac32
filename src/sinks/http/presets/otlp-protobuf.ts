import protobuf from 'protobufjs/light.js'
import { type Answer, headerOf, isSuccess } from '../../../transport/exchange.ts'

/** What an export and its answers use of opentelemetry-proto and google.rpc. */
const messages = protobuf.Root.fromJSON({
  nested: {
    Request: message({ resourceLogs: [1, 'ResourceLogs', 'repeated'] }),
    ResourceLogs: message({ resource: [1, 'Resource'], scopeLogs: [2, 'ScopeLogs', 'repeated'] }),
    Resource: message({ attributes: [1, 'KeyValue', 'repeated'] }),
    ScopeLogs: message({ scope: [1, 'Scope'], logRecords: [2, 'LogRecord', 'repeated'] }),
    Scope: message({ name: [1, 'string'] }),
    LogRecord: message({
      timeUnixNano: [1, 'fixed64'],
      severityNumber: [2, 'int32'],
      severityText: [3, 'string'],
      body: [5, 'AnyValue'],
      attributes: [6, 'KeyValue', 'repeated'],
      eventName: [12, 'string'],
    }),
    KeyValue: message({ key: [1, 'string'], value: [2, 'AnyValue'] }),
    AnyValue: message({ stringValue: [1, 'string'], intValue: [3, 'int64'] }, ['stringValue', 'intValue']),
    Response: message({ partialSuccess: [1, 'PartialSuccess'] }),
    PartialSuccess: message({ rejectedLogRecords: [1, 'int64'], errorMessage: [2, 'string'] }),
    Status: message({ code: [1, 'int32'], message: [2, 'string'] }),
  },
})
const request = messages.lookupType('Request')
const response = messages.lookupType('Response')
const status = messages.lookupType('Status')

type Field = readonly [id: number, type: string, rule?: 'repeated']

/** Of the fields in `oneOf` a message has one, the empty value included. */
function message(fields: Readonly<Record<string, Field>>, oneOf?: string[]): protobuf.IType {
  const named = Object.entries(fields).map(([name, [id, type, rule]]) => [name, { id, type, rule }])
  return {
    fields: Object.fromEntries(named) as protobuf.IType['fields'],
    ...(oneOf && { oneofs: { value: { oneof: oneOf } } }),
  }
}

/** The bytes of an export, of its JSON form. Whole numbers of 64 bits are text there, and lose no digit. */
export function bytesOf(json: Buffer): Buffer {
  const { resourceLogs } = JSON.parse(json.toString()) as { readonly resourceLogs: object[] }
  // A copy: the bytes may lie in a pool.
  return Buffer.from(request.encode(request.fromObject({ resourceLogs })).finish())
}

/** An answer in protobuf as the JSON form of the same; any other answer, and one that cannot be decoded, as it is. */
export function jsonAnswer(answer: Answer): Answer {
  const mediaType = headerOf(answer, 'content-type') ?? ''
  if (!/^application\/(?:x-)?protobuf\b/i.test(mediaType)) return answer
  const type = isSuccess(answer.status) ? response : status
  try {
    const read = type.toObject(type.decode(answer.body), { longs: String })
    return { ...answer, body: Buffer.from(JSON.stringify(read)) }
  } catch {
    return answer
  }
}
