const text = { type: 'string', minLength: 1 }
/** An object with at least one of these members. */
const some = (properties: object) => ({ type: 'object', minProperties: 1, properties })

/**
 * JSON Schema of one native line. Additional names are allowed: within a major version names are only added, and a
 * reader with an older schema must not refuse the line.
 */
export const nativeSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'shieldlog native event',
  description:
    'One firewall event of a shield zone, as one JSON object per line. Absent values are left out.',
  type: 'object',
  required: ['v', 'id', 'zone'],
  properties: {
    v: { const: 1, description: 'Version of this format.' },
    id: { ...text, description: 'The id of the log entry; sha256:<hex> of the entry if it has no id.' },
    time: {
      type: 'string',
      pattern: String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.(\d{3}|\d{6}|\d{9})Z$`,
      description: 'Event time in UTC, ISO 8601 with 3, 6 or 9 fractional digits.',
    },
    zone: {
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'integer', description: 'Id of the shield zone.' },
        name: { ...text, description: 'Name of the zone in the configuration.' },
      },
    },
    action: {
      ...text,
      description: 'What Bunny Shield did with the request, as received: Blocked, Logged …',
    },
    severity: { ...text, pattern: String.raw`^[^A-Z]+$`, description: 'In lower case.' },
    rule: some({ id: text, group: text, message: text }),
    client: some({
      address: { ...text, description: 'As received; may be masked, such as 192.0.2.*' },
      ip: { ...text, description: 'Only if the address is a whole IP address, not a masked one.' },
      asn: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
      country: text,
    }),
    response: {
      type: 'object',
      required: ['status'],
      properties: { status: { type: 'integer', minimum: 100, maximum: 599 } },
    },
    pop: { ...text, description: 'The point of presence that answered.' },
    match: some({ operator: text, value: text }),
    request: some({ id: text, method: text, url: text, userAgent: text }),
    other: {
      type: 'object',
      minProperties: 1,
      description:
        'What no field carries: unknown members of the entry, a timestamp that is no time, labels that are no object.',
    },
    labels: {
      type: 'object',
      description: 'As received, including empty ones. Left out if the sink does not include them.',
    },
    log: {
      type: 'object',
      description:
        'The decoded log. A log that does not decode to an object is in `text`. Left out if the sink does not include it.',
    },
    raw: {
      type: 'object',
      description: 'The entry as received, redacted. Only if the sink includes it.',
    },
    set: {
      type: 'object',
      additionalProperties: text,
      description: 'Constant fields of the sink.',
    },
  },
} as const
