/**
 * What a command requires: zones, a key of the API, and whose secrets. A second shell seldom has those of all sections,
 * so a command may only ask for what it uses.
 * - `zones`: the process that ships unattended, and `check`. All that is configured.
 * - `delivery`: events are read from the API and delivered.
 * - `comparison`: events are read from the API and compared with the store.
 * - `events`: events are read from the API and shown.
 * - `key`: another operation of the API.
 * - `sinks`: events of the store are delivered.
 * - `routes`: the store is read, by zone. `state`: the same without zones.
 * - `notices`: people are told.
 * - `nothing`: the configuration alone.
 */
export type Needs = keyof typeof required

interface Required {
  readonly zones?: true
  readonly key?: true
  /** Sections whose secrets must be readable; absent: all. */
  readonly secretsOf?: readonly string[]
}

const api = ['api', 'accounts']

const required = {
  zones: { zones: true, key: true },
  delivery: { zones: true, key: true, secretsOf: [...api, 'state', 'sinks', 'redact'] },
  comparison: { zones: true, key: true, secretsOf: [...api, 'state', 'redact'] },
  events: { zones: true, key: true, secretsOf: [...api, 'redact'] },
  key: { key: true, secretsOf: api },
  sinks: { secretsOf: ['state', 'sinks', 'redact'] },
  routes: { zones: true, secretsOf: ['state'] },
  state: { secretsOf: ['state'] },
  notices: { secretsOf: ['notify', 'heartbeat'] },
  nothing: { secretsOf: [] },
} as const satisfies Readonly<Record<string, Required>>

export function requiredBy(needs: Needs): Required {
  return required[needs]
}

/** Whether a command uses the secrets of a section. */
export function usesSecretsOf(section: string, needs: Needs): boolean {
  return requiredBy(needs).secretsOf?.includes(section) ?? true
}
