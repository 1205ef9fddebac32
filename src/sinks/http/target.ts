import { Failure, messageOf } from '../../domain/failure.ts'
import { headerValueError, urlError, type SettingError } from '../../domain/text/http-rules.ts'
import { Secret } from '../../domain/text/secret.ts'
import { formsOf } from './mask.ts'
import { headerNameError, insteadOfCredentials } from './rules.ts'

/** URL and headers of requests, all secrets in plain text: never print it. */
export interface Target {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Every form of every secret, to mask answers. */
  readonly forms: readonly string[]
}

export interface TargetOptions {
  readonly name: string
  readonly url: string | Secret
  readonly headers: Readonly<Record<string, string | Secret>>
  /** Sent as User-Agent unless the headers set another. */
  readonly userAgent: string
}

/** Builds the target from the current secrets. */
export interface TargetSource {
  /** Throws Failure `sink_refuses` (stop) where a re-read secret cannot be sent. */
  current(): Target
  /** Reads all secrets again. */
  reread(): void
  /** Scheme, host and port; never the rest of the URL. */
  readonly origin: string
}

const secretName = /auth|key|token|secret|cookie|signature|password/i

/** Throws an error that names the field for a URL or header that cannot be used. */
export function createTargetSource(options: TargetOptions): TargetSource {
  const { name, headers } = options
  const before = new Set<string>()
  for (const header of Object.keys(headers)) {
    assertUsable(name, `headers.${JSON.stringify(header)}`, headerNameError(header, before))
    before.add(header.toLowerCase())
  }
  const origin = build(options).url.origin
  let target: Target | undefined

  function reread(): void {
    for (const value of [options.url, ...Object.values(headers)])
      if (value instanceof Secret && value.reread()) target = undefined
  }

  function built(): Target {
    try {
      return build(options)
    } catch {
      // The secret's file may have been half written when it was read.
      reread()
      return build(options)
    }
  }

  return {
    origin,
    reread,
    current() {
      try {
        return (target ??= built())
      } catch (cause) {
        throw new Failure('stop', 'sink_refuses', messageOf(cause))
      }
    },
  }
}

/** True when both would send the same. */
export function sameTarget(one: Target, other: Target): boolean {
  return one.url.href === other.url.href && JSON.stringify(one.headers) === JSON.stringify(other.headers)
}

function build({ name, url, headers, userAgent }: TargetOptions): Target {
  assertUsable(name, 'url', urlError(reveal(url), insteadOfCredentials))
  const parsed = new URL(reveal(url))
  const plain: Record<string, string> = { 'user-agent': userAgent }
  for (const [header, value] of Object.entries(headers)) {
    const text = reveal(value)
    assertUsable(name, `headers.${header}`, headerValueError(text))
    plain[header.toLowerCase()] = text
  }
  const secrets = Object.entries(headers)
    .filter(([header, value]) => value instanceof Secret || secretName.test(header))
    .map(([, value]) => reveal(value))
  return { url: parsed, headers: plain, forms: formsOf([...secrets, ...urlSecrets(parsed)]) }
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
