import { Failure, messageOf } from '../../domain/failure.ts'
import { headerValueError, type SettingError, urlError } from '../../domain/text/http-rules.ts'
import { Secret } from '../../domain/text/secret.ts'
import { formsOf } from './answer-texts.ts'

/** URL and configured headers of requests, all secrets in plain text: never print it. */
export interface Target {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** All settings of the sink: every secret in them is read again when it is refused, and masked in answers. */
interface TargetSettings {
  readonly name: string
  /** Its query and long path segments may be secrets; what the preset adds to it is not. */
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | Secret>>
}

/** Builds the target from the current secrets. */
export interface TargetSource {
  /** Throws Failure `sink_refuses` (stop) where a re-read secret cannot be sent. */
  current(): Target
  /** Reads all secrets again. */
  reread(): void
  /** Grows whenever a secret has changed. */
  readonly generation: number
  /** Every form of every secret, and of these headers with credentials, to mask answers. */
  formsWith(credentials: Readonly<Record<string, string>>): readonly string[]
  /** Scheme, host and port; never the rest of the URL. */
  readonly origin: string
}

const secretName = /auth|key|token|secret|cookie|signature|password/i

/**
 * `address` is where the preset posts to; `userAgent` is sent unless the headers set another. Throws an error that names
 * the field for a URL or header that cannot be used.
 */
export function createTargetSource(
  settings: TargetSettings,
  address: string,
  userAgent: string,
): TargetSource {
  const build = () => targetOf(settings, address, userAgent)
  const secrets = secretsIn(settings)
  const { origin } = build().url
  const configured = URL.parse(settings.url ?? '')
  let target: Target | undefined
  let generation = 0

  function reread(): void {
    for (const secret of secrets)
      if (secret.reread()) {
        target = undefined
        generation++
      }
  }

  function built(): Target {
    try {
      return build()
    } catch {
      // The file of the secret may have been read while it was written.
      reread()
      return build()
    }
  }

  return {
    origin,
    reread,
    get generation() {
      return generation
    },
    current() {
      try {
        return (target ??= built())
      } catch (cause) {
        throw new Failure('stop', 'sink_refuses', messageOf(cause))
      }
    },
    formsWith(credentials) {
      const named = Object.entries(settings.headers).filter(([header]) => secretName.test(header))
      return formsOf([
        ...secrets.filter(({ isResolved }) => isResolved).map(reveal),
        ...named.map(([, value]) => reveal(value)),
        ...Object.values(credentials),
        ...(configured === null ? [] : urlSecrets(configured)),
      ])
    },
  }
}

function targetOf({ name, headers }: TargetSettings, url: string, userAgent: string): Target {
  assertUsable(name, 'url', urlError(url, insteadOfCredentials))
  const plain: Record<string, string> = { 'user-agent': userAgent }
  for (const [header, value] of Object.entries(headers)) {
    const text = reveal(value)
    assertUsable(name, `headers.${header}`, headerValueError(text))
    plain[header.toLowerCase()] = text
  }
  return { url: new URL(url), headers: plain }
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

/** Repeats the check of the configuration, because secrets are read again while the sink runs. */
function assertUsable(sink: string, field: string, error: SettingError | undefined): void {
  if (error !== undefined) throw new Error(`sink ${sink}: ${field} ${error.problem}: ${error.remedy}`)
}

/** The remedy for a user name and password in the URL. */
export const insteadOfCredentials =
  'move it to a header, for example headers: { Authorization: "Basic ${SIEM_BASIC}" }'

/** Headers that frame a request or that the sink sets for each body; a second value would break or forge requests. */
const ownHeaders = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const headerName = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/

/** The error of a configured header name; undefined for a valid one. `before` holds the earlier names in lower case. */
export function headerNameError(header: string, before: ReadonlySet<string>): SettingError | undefined {
  if (!headerName.test(header))
    return { problem: 'is not a header name', remedy: 'use letters, digits and "-"' }
  const name = header.toLowerCase()
  if (ownHeaders.has(name)) return { problem: 'is a header that the sink sets', remedy: 'remove it' }
  if (before.has(name))
    return { problem: 'is given twice, in different spellings', remedy: 'keep one of them' }
  return undefined
}

/** Other headers that a signature would replace: one of every request, and those that proxies read and remove. */
const notForSignatures = new Set([
  'user-agent',
  'forwarded',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'via',
])

/** The error of a header that is to hold the signature; undefined for a valid one. `configured` names the others. */
export function signatureHeaderError(
  header: string,
  configured: readonly string[],
): SettingError | undefined {
  const name = header.toLowerCase()
  const remedy = 'choose another one, such as X-Signature'
  if (ownHeaders.has(name) || notForSignatures.has(name))
    return { problem: 'is a header that the sink sets or that proxies read', remedy }
  if (configured.some((each) => each.toLowerCase() === name))
    return { problem: 'is also one of headers', remedy: 'remove it there, or choose another one here' }
  return undefined
}
