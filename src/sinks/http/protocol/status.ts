import type { Retry, Verdict } from './preset.ts'

/** Statuses that ask for the same request again later. Every 5xx does, too. */
const again = new Set([408, 421, 423, 425, 429])
/** Statuses that blame the content of the request. */
const blamesContent = new Set([400, 413, 422])

const remedies: Record<number, string> = {
  401: 'check the credentials',
  402: 'check the quota and the plan of the destination',
  403: 'check that the credentials may write there',
  404: 'check url',
  405: 'check url: this address takes no events',
  406: 'check preset and format',
  407: 'check the credentials in HTTPS_PROXY or HTTP_PROXY',
  410: 'check url: the address is gone for good',
  411: 'check url: something on the way does not take bodies with a length',
  414: 'check url: it is too long',
  415: 'check preset, format and compression',
  431: 'check headers: they are too large',
}

/** Interprets an HTTP status where the body says nothing else. 2xx is the acknowledgement. */
export function readStatus(status: number): Verdict {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (again.has(status) || status >= 500) return { kind: 'retry', code: retryCodeOf(status) }
  if (blamesContent.has(status)) return { kind: 'split', reason: status === 413 ? 'too_large' : 'refused' }
  const redirected = status >= 300 && status < 400
  const remedy = redirected ? 'redirects are not followed: set url to the final address' : remedies[status]
  return { kind: 'stop', remedy: remedy ?? 'check the sink', credentials: status === 401 || status === 403 }
}

export function retryCodeOf(status: number): Retry['code'] {
  if (status === 429) return 'throttled'
  return status === 408 ? 'timeout' : 'server_error'
}
