import { cancelled, Failure, messageOf } from '../domain/failure.ts'
import { connectTimeoutMs } from './dispatcher.ts'

const connectTimeout = 'UND_ERR_CONNECT_TIMEOUT'
const tlsCodes =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_C|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|EPROTO$|UND_ERR_PRX_TLS$)/
const networkCodes =
  /^(?:E(?!RR_)[A-Z\d_]+|UND_ERR_[A-Z_]+|HPE_[A-Z_]+|ERR_SOCKET_[A-Z_]+|ERR_STREAM_PREMATURE_CLOSE|ERR_HTTP[A-Z\d_]*)$/
/** Of the connection to a proxy; the cause says what failed. */
const proxyCodes = /^UND_ERR_PRX_/
const closedCodes = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])

const unreachable = 'check the network and the firewalls of this host'
/** What failed, by the code, and what to do; a code with a remedy is that of a connection that was never made. */
const words: Readonly<Record<string, readonly [why: string, remedy?: string]>> = {
  ECONNRESET: ['the connection was reset'],
  EPIPE: ['the connection was reset'],
  UND_ERR_SOCKET: ['the connection was closed before the answer was complete'],
  UND_ERR_HEADERS_OVERFLOW: ['the headers of the answer are larger than 64 KiB'],
  UND_ERR_PRX_CONN: ['the proxy closed the connection'],
  ECONNREFUSED: ['connection refused', 'check host and port, and whether it runs'],
  ENOTFOUND: ['the host name is unknown', 'check the host name, and DNS on this host'],
  EAI_AGAIN: ['the host name could not be looked up', 'check DNS on this host'],
  EHOSTUNREACH: ['the host cannot be reached', unreachable],
  ENETUNREACH: ['the network cannot be reached', unreachable],
}
const checkProxy = 'check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY'
/** What to do about a connection that is not trusted: the first that matches the code. */
const tlsRemedies: readonly (readonly [RegExp, string])[] = [
  [/ALERT|_REQUIRED$/, 'it refuses the certificate of this side: check tls.certFile and tls.keyFile'],
  [/EXPIRED/, 'its certificate, or that of its authority, has expired'],
  [/ALTNAME|HOSTNAME/, 'its certificate is for another name: check the host name'],
  [/SELF_SIGNED|UNABLE_TO_|INVALID_CA/, 'if its authority is your own, name the CA file in tls.caFile'],
  [/EPROTO|WRONG_VERSION|PACKET_LENGTH/, 'check that this port speaks TLS'],
]

/**
 * Converts what a request threw to a Failure: `cancelled`, or kind retry with `timeout`, `tls` or `network`. The
 * message consists of `what` (which must hold no secret), the step that failed, the error code and what to do; never
 * the error's own text, which may hold a URL. It names `origin` where that is given and `what` does not. An error that
 * is not of the network is a bug and is rethrown.
 */
export function networkFailure(error: unknown, what: string, signal?: AbortSignal, origin?: string): Failure {
  if (error instanceof Failure) return error
  const reason: unknown = signal?.aborted === true ? signal.reason : error
  const code = codeOf(error)
  const from = origin === undefined ? '' : ` from ${origin}`
  const failed = (kind: 'timeout' | 'tls' | 'network', text: string, remedy = '') =>
    new Failure('retry', kind, `${what}: ${text}${remedy === '' ? '' : `; ${remedy}`}`, { cause: error })
  // The reason of a deadline names its time.
  if (reason instanceof Error && reason.name === 'TimeoutError')
    return failed('timeout', `${reason.message}${from}`)
  if (signal?.aborted === true || isAbort(error, code)) return cancelled(error)
  if (code === connectTimeout)
    return failed('timeout', `no connection within ${connectTimeoutMs / 1000} s${from} (${code})`)
  if (code === 'ETIMEDOUT')
    return failed('timeout', `no answer within the time that the system allows${from} (${code})`)
  const proxyStatus = proxyStatusOf(error, code)
  if (proxyStatus !== undefined) return failed('network', `the proxy answered ${proxyStatus}`, checkProxy)
  const isProxy = isProxyError(error)
  const to = isProxy ? ' to the proxy' : origin === undefined ? '' : ` to ${origin}`
  if (tlsCodes.test(code)) {
    const remedy = tlsRemedies.find(([codes]) => codes.test(code))?.[1]
    return failed('tls', `cannot make a trusted connection${to} (${code})`, remedy ?? 'check tls')
  }
  if (code === 'UND_ERR_ABORTED') return cancelled(error)
  if (code === 'UND_ERR_INVALID_ARG')
    return new Failure('stop', 'rejected', `${what}: a header or the address cannot be sent; check them`)
  // undici has no code for this one.
  if (error instanceof Error && error.name === 'HTTPParserError')
    return failed('network', `the answer${from} is not HTTP`, 'check the address')
  // How undici names an answer that begins with `100 Continue`, which nobody asked for.
  if (code === 'UND_ERR_SOCKET' && messageOf(error) === 'bad response')
    return failed(
      'network',
      `the answer${from} begins with 100 Continue`,
      'update the server or proxy that sends it unasked',
    )
  const [why, remedy] = words[code] ?? []
  if (remedy !== undefined)
    return failed('network', `cannot connect${to}: ${why} (${code})`, isProxy ? checkProxy : remedy)
  if (!networkCodes.test(code)) throw error
  if (to === '') return failed('network', `${why ?? 'the connection failed'} (${code})`)
  return failed('network', `the connection${to} failed${why === undefined ? '' : `: ${why}`} (${code})`)
}

/** True where no connection was made, so that the request cannot have arrived. False where that is not known. */
export function isUnsent({ code, details: { cause } }: Failure): boolean {
  const reason = codeOf(cause)
  const isRefused = isProxyError(cause) || proxyStatusOf(cause, reason) !== undefined
  return code === 'tls' || isRefused || words[reason]?.[1] !== undefined || reason === connectTimeout
}

/** Without UND_ERR_ABORTED: undici also uses it for tunnels that a proxy refused. */
function isAbort(error: unknown, code: string): boolean {
  if (closedCodes.has(code) || code === 'ABORT_ERR') return true
  return error instanceof Error && error.name === 'AbortError' && code !== 'UND_ERR_ABORTED'
}

/** The code of an error or of its cause; undici wraps at most twice. */
function codeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 3) return ''
  const code: unknown = Reflect.get(error, 'code')
  // The code of a DOMException is a number and adds nothing to its name.
  const own = typeof code === 'string' ? code : ''
  const inner = codeOf(error.cause, depth + 1)
  return own === '' || proxyCodes.test(own) ? inner || own : own
}

function isProxyError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && proxyCodes.test(String(error.code))
}

/** undici has no code of its own for a refused tunnel: it reports an abort or an invalid argument. */
function proxyStatusOf(error: unknown, code: string): string | undefined {
  if (!(error instanceof Error) || (code !== 'UND_ERR_ABORTED' && code !== 'UND_ERR_INVALID_ARG'))
    return undefined
  return /^Proxy [^(]*\((\d{3})\)/.exec(error.message)?.[1]
}
