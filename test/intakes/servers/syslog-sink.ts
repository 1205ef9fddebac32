import { tlsFixture } from '../../setup/tls.ts'
import type { SinkSettings } from '../intake.ts'

const ca = { caFile: tlsFixture('ca.pem') }

/** What a receiver asks for that takes messages only from those who show a certificate of its authority. */
export const overTls: SinkSettings = {
  protocol: 'tls',
  tls: { ...ca, certFile: tlsFixture('client.pem'), keyFile: tlsFixture('client.key') },
}
export const withoutCertificate: Readonly<Record<string, SinkSettings>> = { 'no certificate': { tls: ca } }

/** The sink of a place of a syslog receiver, whose messages are told apart by their host. */
export function syslogSink(to: string, hostname: string, sink: SinkSettings): SinkSettings {
  const { hostname: host, port } = new URL(to)
  return { type: 'syslog', format: 'cef', host, port: Number(port), hostname, ...sink }
}
