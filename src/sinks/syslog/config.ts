import * as z from 'zod'
import { choice, count, duration, marks, name, onAnySink } from '../../fields/fields.ts'
import { TlsConfig } from '../../fields/pem-files.ts'

const Host = z
  .string()
  .regex(/^[\w.-]+$|^[\da-f:.]+$/i, { message: 'is not a host name or an IP address', abort: true })
  .max(253)
  .describe('Host name or IP address of the receiver')
  .register(marks, {
    kind: 'address',
    remedy: 'give only the host; set the port with `port` and TLS with `protocol`',
  })

export const SyslogSinkConfig = z
  .strictObject({
    type: z.literal('syslog').describe('Kind of sink'),
    name: name('Name of the sink; a new name begins with new checkpoints').default('syslog'),
    format: z.enum(['cef', 'native']).default('cef').describe('Format of each event'),
    ...onAnySink,
    host: Host,
    port: count('Port of the receiver', { max: 65_535 }).default(6514),
    protocol: z.enum(['tls', 'tcp']).default('tls').describe('tcp sends events in plain text'),
    framing: choice(
      ['octet', 'newline'],
      'How messages are separated: octet puts its length before each message, newline a line break after it',
    ),
    hostname: z
      .string()
      .regex(/^[!-~]{1,255}$/, { message: 'is not a syslog host name', abort: true })
      .default('bunny-shield')
      .describe('HOSTNAME of each message; many receivers identify the log source by it')
      .register(marks, { remedy: 'use printable ASCII without spaces, at most 255 characters' }),
    maxMessageBytes: count(
      'Longest message that the receiver accepts, in bytes; a longer event becomes a dead letter',
      {
        min: 480,
        max: 16_777_216,
      },
    ).default(65_536),
    timeoutSeconds: duration('Longest time to wait for a connection, and for the receiver to accept bytes', {
      above: 0,
      max: 3600,
    }).default(30),
    tls: TlsConfig.prefault({}).describe('Certificates for this sink'),
  })
  .describe('Syslog messages (RFC 5424) over TLS or TCP')
export type SyslogSinkConfig = Readonly<z.output<typeof SyslogSinkConfig>>
