import type { Answer, Retry, Verdict } from './preset.ts'

/** Statuses after which the same request is sent again later, as after every 5xx. */
const again = new Set([408, 421, 423, 425, 429])
/** Statuses that refuse the content of the request. */
const blamesContent = new Set([400, 413, 422])

const remedies: Record<number, string> = {
  401: 'check the credentials',
  402: 'check the quota and the plan of the destination',
  403: 'check that the credentials may write there',
  404: 'check url',
  405: 'check url: this address does not accept events',
  406: 'check preset and format',
  407: 'check the credentials in HTTPS_PROXY or HTTP_PROXY',
  410: 'check url: the destination has removed this address',
  411: 'check url: the destination, or a proxy before it, did not see the length of the body',
  414: 'check url: it is too long',
  415: 'check preset, format and compression',
  431: 'check headers: they are too large',
}

/**
 * Interprets an HTTP status, for answers whose body has no more specific result. The acknowledgement is one of the
 * statuses that the destination documents for it, or any 2xx.
 */
export function readStatus(status: number, acknowledges?: readonly number[]): Verdict {
  if (isSuccess(status)) {
    if (acknowledges === undefined || acknowledges.includes(status)) return { kind: 'delivered' }
    return noAcknowledgement(`this destination acknowledges with ${acknowledges.join(' or ')}: check url`)
  }
  if (again.has(status) || status >= 500) return { kind: 'retry', code: retryCodeOf(status) }
  if (blamesContent.has(status)) return { kind: 'split', reason: status === 413 ? 'too_large' : 'refused' }
  const redirected = status >= 300 && status < 400
  const remedy = redirected ? 'redirects are not followed: set url to the final address' : remedies[status]
  return { kind: 'stop', remedy: remedy ?? 'check the sink', credentials: status === 401 || status === 403 }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** A success that acknowledges nothing: the body is sent again. */
export function noAcknowledgement(said: string): Retry {
  return { kind: 'retry', code: 'bad_body', said }
}

/**
 * The verdict on a success with a page of HTML: it comes from a login, a portal or another website at the address, and
 * acknowledges nothing, whatever the destination. Undefined for any other answer; an empty body is no page, since some
 * frameworks name this type for it.
 */
export function readPage({ status, headers, body, whole }: Answer): Retry | undefined {
  const type = headers['content-type'] ?? ''
  if (!isSuccess(status) || !/^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(type)) return undefined
  if (whole && body.length === 0) return undefined
  return noAcknowledgement('a page of HTML, as of a login or a portal: check url')
}

export function retryCodeOf(status: number): Retry['code'] {
  if (status === 429) return 'throttled'
  return status === 408 ? 'timeout' : 'server_error'
}
