import { cancelled, Failure } from '../domain/failure.ts'

const connectTimeout = 'UND_ERR_CONNECT_TIMEOUT'
const timeoutCodes = new Set([connectTimeout, 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'])
const tlsCodes =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_C|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|EPROTO$|UND_ERR_PRX_TLS$)/
const networkCodes =
  /^(?:E(?!RR_)[A-Z\d_]+|UND_ERR_[A-Z_]+|HPE_[A-Z_]+|ERR_SOCKET_[A-Z_]+|ERR_STREAM_PREMATURE_CLOSE|ERR_HTTP[A-Z\d_]*)$/
/** No connection was made. */
const unconnectedCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])
const closedCodes = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])

const words: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_PRX_CONN: 'the proxy closed the connection',
}

/**
 * Converts what a request threw to a Failure: `cancelled`, or kind retry with `timeout`, `tls` or `network`. The
 * message consists of `what` (which must hold no secret), our text and the error code; never the error's own text,
 * which may hold a URL. It names `origin` where that is given and `what` does not. An error that is not of the network
 * is a bug and is rethrown.
 */
export function networkFailure(error: unknown, what: string, signal?: AbortSignal, origin?: string): Failure {
  if (error instanceof Failure) return error
  const aborted = signal?.aborted === true
  const code = codeOf(error)
  const from = origin === undefined ? '' : ` from ${origin}`
  const to = isProxyError(error) ? ' to the proxy' : origin === undefined ? '' : ` to ${origin}`
  if (isTimeout(aborted ? signal.reason : error))
    return failure('timeout', `${what}: no answer in time${from}`, code, error)
  if (aborted || isAbort(error, code)) return cancelled(error)
  const proxyStatus = proxyStatusOf(error, code)
  if (proxyStatus !== undefined)
    return failure('network', `${what}: the proxy answered ${proxyStatus}`, '', error)
  if (tlsCodes.test(code))
    return failure('tls', `${what}: cannot make a trusted connection${to}`, tlsReasonOf(error, code), error)
  if (code === 'UND_ERR_ABORTED') return cancelled(error)
  if (code === 'UND_ERR_INVALID_ARG')
    return new Failure(
      'stop',
      'rejected',
      `${what}: the request cannot be sent, a header or the address is invalid`,
    )
  if (networkCodes.test(code)) return failure('network', `${what}: ${whyOf(code, to)}`, code, error)
  throw error
}

/** True where no connection was made, so that the request cannot have arrived. False where that is not known. */
export function isUnsent({ code, details: { cause } }: Failure): boolean {
  const reason = codeOf(cause)
  const isRefused = isProxyError(cause) || proxyStatusOf(cause, reason) !== undefined
  return code === 'tls' || isRefused || unconnectedCodes.has(reason) || reason === connectTimeout
}

function whyOf(code: string, to: string): string {
  const why = words[code]
  if (unconnectedCodes.has(code)) return `cannot connect${to}: ${why}`
  return to === ''
    ? (why ?? 'the connection failed')
    : `the connection${to} failed${why === undefined ? '' : `: ${why}`}`
}

function failure(
  code: 'timeout' | 'tls' | 'network',
  message: string,
  detail: string,
  cause: unknown,
): Failure {
  return new Failure('retry', code, `${message}${detail === '' ? '' : ` (${detail})`}`, { cause })
}

function isTimeout(error: unknown): boolean {
  return (error instanceof Error && error.name === 'TimeoutError') || timeoutCodes.has(codeOf(error))
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
  return own === '' || own === 'UND_ERR_PRX_CONN' ? inner || own : own
}

function isProxyError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_PRX_CONN'
}

/** undici has no code of its own for a refused tunnel: it reports an abort or an invalid argument. */
function proxyStatusOf(error: unknown, code: string): string | undefined {
  if (!(error instanceof Error) || (code !== 'UND_ERR_ABORTED' && code !== 'UND_ERR_INVALID_ARG'))
    return undefined
  return /^Proxy [^(]*\((\d{3})\)/.exec(error.message)?.[1]
}

function tlsReasonOf(error: unknown, code: string): string {
  const inner = error instanceof Error ? codeOf(error.cause) : ''
  return code === 'UND_ERR_PRX_TLS' && inner !== '' ? inner : code
}
