import * as z from 'zod'
import {
  addIssue,
  bytes,
  choice,
  count,
  described,
  duration,
  format,
  marks,
  name,
  onAnySink,
  secret,
  secretFile,
  section,
} from '../../fields/fields.ts'
import { TlsConfig } from '../../fields/pem-files.ts'

const Broker = z
  .string()
  .regex(/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i, { message: 'is not host:port', abort: true })
  .max(260)
  .describe('A broker, as host:port')
  .register(marks, {
    kind: 'address',
    remedy: 'write host:port, for example kafka:9092; TLS is set with `tls`',
  })

const Topic = z
  .string()
  .regex(/^(?!\.{1,2}$)(?:[\w.-]|\{zone\}){1,249}$/, { message: 'is not the name of a topic', abort: true })
  .describe('Topic; {zone} in it stands for the id of the zone')
  .register(marks, { remedy: 'use letters, digits, ".", "_" and "-", and {zone} for the id of the zone' })

const Sasl = z
  .strictObject({
    mechanism: choice(['scram-sha-512', 'scram-sha-256', 'plain', 'oauthbearer'], 'How the sink logs in'),
    username: z.string().min(1).optional().describe('User name; not for oauthbearer'),
    password: secret('Password of that user').optional(),
    passwordFile: secretFile('the password'),
    token: secret('Token of oauthbearer').optional(),
    tokenFile: secretFile('the token'),
  })
  .superRefine(({ mechanism, ...given }, context) => {
    const needed = mechanism === 'oauthbearer' ? (['token'] as const) : (['username', 'password'] as const)
    for (const field of needed) {
      if (given[field] !== undefined) continue
      const file = field === 'username' ? '' : ` or ${field}File`
      const remedy = `give ${field}${file}, which ${mechanism} needs`
      addIssue(context, { problem: 'is missing', remedy }, [field])
    }
  })
  .describe('How the sink logs in; without it, it does not')

export const KafkaSinkConfig = z
  .strictObject({
    type: z.literal('kafka').describe('Kind of sink'),
    name: name('Name of the sink; a new name begins with new checkpoints').default('kafka'),
    format: format(),
    ...onAnySink,
    brokers: z
      .array(Broker)
      .min(1)
      .describe('Brokers that are asked first; they name the others of the cluster'),
    topic: Topic,
    compression: choice(['zstd', 'gzip', 'none'], 'How batches are compressed'),
    sasl: Sasl.optional(),
    tls: described(
      TlsConfig.optional(),
      'Encrypts the connections; {} trusts the built-in authorities. Absent: plain text',
    ),
    timestamp: choice(
      ['event', 'arrival'],
      'Time of a record: that of its event, or of its arrival. Topics delete records by their time',
    ),
    timeoutSeconds: duration('Longest time until brokers acknowledge a batch, with all tries', {
      above: 0,
      max: 3600,
    }).default(30),
    batch: section('Limits of one batch', {
      maxEvents: count('Largest number of events in one batch', { max: 100_000 }).default(1000),
      maxBytes: bytes('Largest batch before compression', { min: 1024 }).default(900_000),
    }),
  })
  .describe('Messages in a topic of Apache Kafka, or of what speaks its protocol')
export type KafkaSinkConfig = Readonly<z.output<typeof KafkaSinkConfig>>
