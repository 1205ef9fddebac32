import { Secret } from '../../domain/text/secret.ts'
import { type Mask, masking } from './answer-texts.ts'

/** All settings of the sink: every secret in them is read again when it is refused, and masked in answers. */
interface SecretSettings {
  /** Its query and long path segments may be secrets; what the preset adds to it is not. */
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | Secret>>
}

export interface SinkSecrets {
  /** The configured headers, lower case, in plain text: never print them. */
  headers(): Readonly<Record<string, string>>
  /** Reads all secrets again. */
  reread(): void
  /** Grows whenever a secret has changed. */
  readonly generation: number
  /** Masks every secret, and these headers with credentials, in answers. */
  maskWith(credentials: Readonly<Record<string, string>>): Mask
}

const secretName = /auth|key|token|secret|cookie|signature|password/i

export function createSinkSecrets(settings: SecretSettings): SinkSecrets {
  const secrets = secretsIn(settings)
  const configured = URL.parse(settings.url ?? '')
  const headers = Object.entries(settings.headers)
  let generation = 0
  return {
    headers: () => Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), reveal(value)])),
    reread() {
      for (const secret of secrets) if (secret.reread()) generation++
    },
    get generation() {
      return generation
    },
    maskWith(credentials) {
      const named = headers.filter(([name]) => secretName.test(name))
      return masking([
        ...secrets.filter(({ isResolved }) => isResolved).map(reveal),
        ...named.map(([, value]) => reveal(value)),
        ...Object.values(credentials),
        ...(configured === null ? [] : urlSecrets(configured)),
      ])
    },
  }
}

function secretsIn(value: unknown): Secret[] {
  if (value instanceof Secret) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretsIn) : []
}

/** Queries and long path segments of intake addresses are often tokens. */
function urlSecrets({ pathname, search, searchParams }: URL): string[] {
  const segments = pathname.split('/').filter((segment) => segment.length >= 16)
  return [
    ...segments,
    ...(search === '' ? [] : [search]),
    ...[...searchParams.values()].filter((value) => value.length >= 6),
  ]
}

function reveal(value: string | Secret): string {
  return value instanceof Secret ? value.reveal() : value
}
