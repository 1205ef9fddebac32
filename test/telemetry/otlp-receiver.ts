import type { IncomingMessage } from 'node:http'
import { bodyOf, serveHttp } from '../setup/http-server.ts'
import type { RecordedSpan } from './span-recorder.ts'

/** A span as it came over the wire, with what its process said of itself. */
export interface ReceivedSpan extends Omit<RecordedSpan, 'isParentRemote' | 'startTime'> {
  readonly resource: Readonly<Record<string, unknown>>
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version?: string }
      readonly spans: readonly {
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly name: string
        readonly kind: number
        readonly attributes: readonly Attribute[]
        readonly status: { readonly code?: number }
      }[]
    }[]
  }[]
}

/** Takes traces as OTLP over HTTP in JSON, on 127.0.0.1; closed after the test. */
export async function otlpReceiver() {
  /** All spans so far, in the order of their coming. */
  const spans: ReceivedSpan[] = []
  /** Requests as they came: their headers as JSON, and their uncompressed bodies. */
  const texts: string[] = []
  const take = async (request: IncomingMessage): Promise<number> => {
    const text = await bodyOf(request)
    texts.push(JSON.stringify(request.headers), text)
    if (request.method !== 'POST' || request.url !== '/v1/traces') return 404
    if (request.headers['content-type'] !== 'application/json') return 415
    spans.push(...spansOf(JSON.parse(text) as TraceRequest))
    return 200
  }
  const { url } = await serveHttp(async (request, response) =>
    response.writeHead(await take(request), { 'content-type': 'application/json' }).end('{}'),
  )
  return { url, spans, texts }
}

function spansOf({ resourceSpans }: TraceRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map(({ name, kind, traceId, spanId, parentSpanId, attributes, status }) => ({
        scope: scope.name,
        version: scope.version,
        // On the wire the kinds are counted from 1.
        kind: kind - 1,
        name,
        traceId,
        spanId,
        parentId: parentSpanId === '' ? undefined : parentSpanId,
        attributes: valuesOf(attributes) as RecordedSpan['attributes'],
        status: status.code,
        resource: valuesOf(resource.attributes),
      })),
    ),
  )
}

/** `{ intValue: 3 }` and its like; 64-bit numbers may come as text. */
function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [kind, held] = Object.entries(value)[0] ?? []
      return [key, kind === 'intValue' ? Number(held) : held]
    }),
  )
}
