import type { SettingError } from '../../domain/text/http-rules.ts'

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
