import { isIP } from 'node:net'

/**
 * Whether the client asked for an IP address or localhost. A web page elsewhere can make a name of its own lead to this
 * host, and its script could then read what is served here without a token.
 */
export function isAskedByAddress(hostHeader: string | undefined): boolean {
  const host = (hostHeader ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return isIP(host) !== 0 || host.toLowerCase() === 'localhost'
}
