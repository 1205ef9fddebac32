const text = { type: 'string', minLength: 1 }

/**
 * JSON Schema of one native line. Additional names are allowed: a major version only ever adds names, and a reader with
 * an older schema must not refuse the line.
 */
export const nativeSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'shieldlog native event',
  description: 'One firewall event of a shield zone, one JSON object a line. What is absent is left out.',
  type: 'object',
  required: ['v', 'id', 'zone'],
  properties: {
    v: { const: 1, description: 'Version of this format.' },
    id: { ...text, description: 'The entry’s own id, or sha256:<hex> of the entry where it has none.' },
    time: {
      type: 'string',
      pattern: String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.(\d{3}|\d{6}|\d{9})Z$`,
      description: 'Event time in UTC, ISO 8601 with 3, 6 or 9 fractional digits.',
    },
    zone: {
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'integer', description: 'The shield zone.' },
        name: { ...text, description: 'Its name in the configuration.' },
      },
    },
    action: { ...text, description: 'What was done with the request, as received: Blocked, Logged …' },
    severity: { ...text, pattern: String.raw`^[^A-Z]+$`, description: 'Lower case.' },
    rule: {
      type: 'object',
      minProperties: 1,
      properties: { id: text, group: text, message: text },
    },
    request: {
      type: 'object',
      minProperties: 1,
      properties: { id: text, method: text, url: text, userAgent: text },
    },
    response: {
      type: 'object',
      required: ['status'],
      properties: { status: { type: 'integer', minimum: 100, maximum: 599 } },
    },
    client: {
      type: 'object',
      minProperties: 1,
      properties: {
        address: { ...text, description: 'As received; may be masked, such as 192.0.2.*' },
        ip: { ...text, description: 'Only where the address is a whole IP address.' },
        asn: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
        country: text,
      },
    },
    pop: { ...text, description: 'The point of presence that answered.' },
    match: {
      type: 'object',
      minProperties: 1,
      properties: { operator: text, value: text },
    },
    labels: {
      type: 'object',
      description: 'As received, empty ones included. Left out where the sink does not include them.',
    },
    log: {
      type: 'object',
      description:
        'The decoded log; what does not decode to an object stands in `text`. Left out where the sink does not include it.',
    },
    raw: {
      type: 'object',
      description: 'The entry as received, redacted. Only where the sink includes it.',
    },
  },
} as const
