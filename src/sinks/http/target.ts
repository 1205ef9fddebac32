import { Failure } from '../../domain/failure.ts'
import { Secret } from '../../domain/secret.ts'
import { formsOf } from './mask.ts'

/** Where requests go and with which headers, all secrets in plain: never to be printed. */
export interface Target {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Every form of every secret, for masking what comes back. */
  readonly forms: readonly string[]
}

export interface TargetOptions {
  readonly name: string
  readonly url: string | Secret
  readonly headers: Readonly<Record<string, string | Secret>>
}

/** The target as its secrets stand now. */
export interface TargetSource {
  /** Throws Failure `sink_refuses` (stop) where a secret that was read again cannot be sent. */
  current(): Target
  /** Reads all secrets again. */
  reread(): void
  /** Scheme, host and port; never the rest of the URL. */
  readonly origin: string
}

/** What frames a request or is made by the sink for each body; a second value would break or forge requests. */
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
const headerValue = /^[\t\x20-\x7e\x80-\xff]+$/
const secretName = /auth|key|token|secret|cookie|signature|password/i

/** Throws an error that names the field for a URL or header that cannot be used. */
export function createTargetSource(options: TargetOptions): TargetSource {
  const { name, headers } = options
  for (const header of Object.keys(headers)) assertName(name, header)
  const origin = build(options).url.origin
  let target: Target | undefined
  return {
    origin,
    current() {
      try {
        return (target ??= build(options))
      } catch (cause) {
        throw new Failure('stop', 'sink_refuses', cause instanceof Error ? cause.message : String(cause))
      }
    },
    reread() {
      for (const value of [options.url, ...Object.values(headers)])
        if (value instanceof Secret && value.reread()) target = undefined
    },
  }
}

/** True when both would send the same. */
export function sameTarget(one: Target, other: Target): boolean {
  return one.url.href === other.url.href && JSON.stringify(one.headers) === JSON.stringify(other.headers)
}

function build({ name, url, headers }: TargetOptions): Target {
  const parsed = parseUrl(name, reveal(url))
  const plain: Record<string, string> = {}
  for (const [header, value] of Object.entries(headers)) {
    const text = reveal(value)
    assertValue(name, header, text)
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

function parseUrl(sink: string, text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error(
      `sink ${sink}: url is no http or https URL: write a whole one, such as https://siem.example/in`,
    )
  if (url.username !== '' || url.password !== '')
    throw new Error(
      `sink ${sink}: url holds a user name or password: move it to a header, for example headers: { Authorization: "Basic \${SIEM_BASIC}" }`,
    )
  url.hash = ''
  return url
}

function assertName(sink: string, header: string): void {
  if (!headerName.test(header))
    throw new Error(
      `sink ${sink}: headers.${JSON.stringify(header)} is no header name: use letters, digits and "-"`,
    )
  if (ownHeaders.has(header.toLowerCase()))
    throw new Error(`sink ${sink}: headers.${header} is written by the sink itself: remove it`)
}

function assertValue(sink: string, header: string, value: string): void {
  if (headerValue.test(value)) return
  throw new Error(
    `sink ${sink}: headers.${header} is empty or holds a line break or another character that no header may have: write one line of printable characters`,
  )
}
