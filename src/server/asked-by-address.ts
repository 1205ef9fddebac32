import { isIP } from 'node:net'

/**
 * Whether the request names this host by IP address or localhost. Another web site can point a host name at this host,
 * and its script could then read what is served here without a token.
 */
export function isAskedByAddress(hostHeader: string | undefined): boolean {
  const host = (hostHeader ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return isIP(host) !== 0 || host.toLowerCase() === 'localhost'
}
