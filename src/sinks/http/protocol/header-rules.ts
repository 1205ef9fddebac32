import type { SettingError } from '../../../domain/text/http-rules.ts'

/** An error between settings that are valid one by one. */
export interface SettingMistake extends SettingError {
  /** The setting, or its path within the sink. */
  readonly at: string | string[]
}

/** The remedy for a user name and password in the URL. */
export const insteadOfCredentials =
  'move it to a header, for example headers: { Authorization: "Basic ${SIEM_BASIC}" }'

/**
 * Headers that frame a request, that the sink sets for each body, or that proxies read and remove; a second value would
 * break or forge requests.
 */
const notConfigured = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'forwarded',
  'host',
  'idempotency-key',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
])
const headerName = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/

/** The error of a configured header name; undefined for a valid one. `before` holds the earlier names in lower case. */
export function headerNameError(header: string, before: ReadonlySet<string>): SettingError | undefined {
  if (!headerName.test(header))
    return { problem: 'is not a header name', remedy: 'use letters, digits and "-"' }
  const name = header.toLowerCase()
  if (notConfigured.has(name))
    return {
      problem: 'is a header that the sink sets or that proxies read',
      remedy: 'remove it, or choose another one',
    }
  if (before.has(name)) return { problem: 'is given twice', remedy: 'keep one of them' }
  return undefined
}
