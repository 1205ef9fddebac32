// The part of the Compose specification that this project writes. Closed, so that a key that is misspelt, or that only some
// versions know, is noticed.
const name = '^[a-z0-9][a-z0-9_-]*$'
const duration = { type: 'string', pattern: '^[0-9]+(ms|s|m|h)$' }
const text = { type: 'string', minLength: 1 }
const names = { type: 'array', items: { type: 'string', pattern: name }, uniqueItems: true, minItems: 1 }

function closed(properties: Record<string, unknown>, required: readonly string[] = []) {
  return { type: 'object', properties, required, additionalProperties: false }
}

function mapOf(value: unknown) {
  return { type: 'object', additionalProperties: value, propertyNames: { pattern: name } }
}

const granted = {
  type: 'array',
  items: {
    oneOf: [{ type: 'string', pattern: name }, closed({ source: text, target: text }, ['source', 'target'])],
  },
}

const healthcheck = closed(
  {
    test: {
      type: 'array',
      minItems: 2,
      items: text,
      prefixItems: [{ enum: ['CMD', 'CMD-SHELL'] }],
    },
    interval: duration,
    timeout: duration,
    retries: { type: 'integer', minimum: 1 },
    start_period: duration,
  },
  ['test', 'interval', 'timeout', 'retries'],
)

const service = closed(
  {
    image: { type: 'string', pattern: '^[a-z0-9./-]+(:[\\w.-]+)?$' },
    build: { type: 'string' },
    pull_policy: { enum: ['always', 'never', 'missing', 'build'] },
    user: text,
    command: { type: 'array', items: text, minItems: 1 },
    // Compose takes numbers and booleans too, and turns them into text in its own way.
    environment: {
      type: 'object',
      additionalProperties: { type: 'string' },
      propertyNames: { pattern: '^\\w+$' },
    },
    secrets: granted,
    configs: granted,
    depends_on: mapOf(closed({ condition: { enum: ['service_started', 'service_healthy'] } }, ['condition'])),
    networks: { oneOf: [names, mapOf(closed({ aliases: names }))] },
    ports: { type: 'array', items: { type: 'string', pattern: '^[\\d.]+:\\d+:\\d+$' } },
    volumes: { type: 'array', items: { type: 'string', pattern: '^[a-z][a-z-]*:/[\\w/]+$' } },
    tmpfs: { type: 'array', items: { type: 'string', pattern: '^/[\\w/]+(:[\\w=,]+)?$' } },
    healthcheck,
    profiles: names,
    deploy: closed({ replicas: { type: 'integer', minimum: 1 } }),
    read_only: { type: 'boolean' },
    cap_drop: { type: 'array', items: { type: 'string' } },
    security_opt: { type: 'array', items: { type: 'string' } },
    restart: { enum: ['no', 'always', 'on-failure', 'unless-stopped'] },
    stop_grace_period: duration,
    mem_limit: { type: 'string', pattern: '^[0-9]+m$' },
    logging: closed(
      {
        driver: { enum: ['json-file'] },
        options: closed({ 'max-size': { type: 'string', pattern: '^[0-9]+m$' }, 'max-file': text }, [
          'max-size',
          'max-file',
        ]),
      },
      ['driver', 'options'],
    ),
  },
  ['image'],
)

const fromFile = mapOf(closed({ file: { type: 'string', pattern: '^\\./' } }, ['file']))

export const composeSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...closed(
    {
      name: { type: 'string', pattern: name },
      services: mapOf(service),
      networks: mapOf(closed({ internal: { type: 'boolean' } })),
      volumes: mapOf(closed({})),
      secrets: fromFile,
      configs: fromFile,
    },
    ['services'],
  ),
  // Pieces that services are put together from.
  patternProperties: { '^x-': {} },
}
