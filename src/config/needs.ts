interface Required {
  readonly zones?: true
  readonly key?: true
  /** Sections whose secrets must be readable; absent: all. */
  readonly secretsOf?: readonly string[]
}

const api = ['api', 'accounts']

/**
 * What a command requires: zones, a key of the API, and whose secrets. A second shell seldom has those of all sections,
 * so a command may only ask for what it uses.
 */
const required = {
  /** Of the process that ships unattended, and of `check`: all that is configured. */
  zones: { zones: true, key: true },
  /** Events are read from the API and delivered. */
  delivery: { zones: true, key: true, secretsOf: [...api, 'state', 'sinks', 'redact'] },
  /** Events are read from the API and compared with the store. */
  comparison: { zones: true, key: true, secretsOf: [...api, 'state', 'redact'] },
  /** Events are read from the API and shown. */
  events: { zones: true, key: true, secretsOf: [...api, 'redact'] },
  /** Another operation of the API. */
  key: { key: true, secretsOf: api },
  /** Events of the store are delivered. */
  sinks: { secretsOf: ['state', 'sinks', 'redact'] },
  /** The store is read, by zone. */
  routes: { zones: true, secretsOf: ['state'] },
  state: { secretsOf: ['state'] },
  /** People are told. */
  notices: { secretsOf: ['notify', 'heartbeat'] },
  nothing: { secretsOf: [] },
} as const satisfies Readonly<Record<string, Required>>
export type Needs = keyof typeof required

export function requiredBy(needs: Needs): Required {
  return required[needs]
}

/** Whether a command uses the secrets of a section. */
export function usesSecretsOf(section: string, needs: Needs): boolean {
  return requiredBy(needs).secretsOf?.includes(section) ?? true
}
