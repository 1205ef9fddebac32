import { isLoopback } from '../../domain/text/loopback.ts'
import { Secret } from '../../domain/text/secret.ts'
import type { Config, SinkConfig } from '../schema/schema.ts'

/** Warns of credentials sent in plain text. */
export function plainHttpWarnings({ api, accounts, sinks }: Config): string[] {
  const ofApi = accounts.length > 0 ? warningOf('api.baseUrl', api.baseUrl, 'the access key') : []
  return [...ofApi, ...sinks.flatMap(ofSink)]
}

function ofSink(sink: SinkConfig, index: number): string[] {
  if (!('url' in sink) || sink.url === undefined || !holdsSecret(sink)) return []
  return warningOf(`sinks[${index}].url`, sink.url, `the credentials of sink ${sink.name}`)
}

function warningOf(path: string, url: string, what: string): string[] {
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'http:' || isLoopback(hostname)) return []
  return [`${path}: shieldlog sends ${what} to ${hostname} unencrypted; use https`]
}

function holdsSecret(value: unknown): boolean {
  if (value instanceof Secret) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsSecret)
}
