import { Failure, messageOf } from '../../domain/failure.ts'
import { headerValueError, urlError, type SettingError } from '../../domain/text/http-rules.ts'
import { Secret } from '../../domain/text/secret.ts'
import { formsOf } from './mask.ts'
import { headerNameError, insteadOfCredentials } from './rules.ts'

/** URL and configured headers of requests, all secrets in plain text: never print it. */
export interface Target {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

export interface TargetOptions {
  readonly name: string
  readonly url: string
  /** The `url` of the settings, whose query and long path segments may be secrets; what the preset adds to it is not. */
  readonly configuredUrl?: string | undefined
  /** All settings of the sink: every secret in them is read again when it is refused, and masked in answers. */
  readonly settings: { readonly headers: Readonly<Record<string, string | Secret>> }
  /** Sent as User-Agent unless the headers set another. */
  readonly userAgent: string
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

/** Throws an error that names the field for a URL or header that cannot be used. */
export function createTargetSource(options: TargetOptions): TargetSource {
  const { name, settings } = options
  const secrets = secretsIn(settings)
  const before = new Set<string>()
  for (const header of Object.keys(settings.headers)) {
    assertUsable(name, `headers.${JSON.stringify(header)}`, headerNameError(header, before))
    before.add(header.toLowerCase())
  }
  const { url } = build(options)
  const configured = URL.parse(options.configuredUrl ?? '')
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
      return build(options)
    } catch {
      // The file of the secret may have been read while it was written.
      reread()
      return build(options)
    }
  }

  return {
    origin: url.origin,
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

function build({ name, url, settings, userAgent }: TargetOptions): Target {
  assertUsable(name, 'url', urlError(url, insteadOfCredentials))
  const plain: Record<string, string> = { 'user-agent': userAgent }
  for (const [header, value] of Object.entries(settings.headers)) {
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
