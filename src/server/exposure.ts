import { isLoopback } from '../domain/text/loopback.ts'
import type { Secret } from '../domain/text/secret.ts'

/** The warning for a server that other hosts can reach without a token; undefined otherwise. */
export function exposureOf(host: string, token: Secret | undefined): string | undefined {
  if (token !== undefined || isLoopback(host)) return undefined
  const remedy = 'set server.tokenFile, or server.host to 127.0.0.1'
  return `listens on ${host} without a token, so anyone who can connect can read zones, sinks and errors; ${remedy}`
}
