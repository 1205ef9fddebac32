import * as z from 'zod'
import type { App } from '../domain/figures.ts'
import type { Secret } from '../domain/text/secret.ts'
import type { Zone } from '../domain/stream.ts'
import { FileSinkConfig } from '../sinks/file/config.ts'
import { HttpSinkConfig } from '../sinks/http/config.ts'
import { redactedHeaders, redactedQuery } from '../shield/redaction/defaults.ts'
import { KafkaSinkConfig } from '../sinks/kafka/config.ts'
import { S3SinkConfig } from '../sinks/s3/config.ts'
import { StdoutSinkConfig } from '../sinks/stdout/config.ts'
import { SyslogSinkConfig } from '../sinks/syslog/config.ts'
import {
  bytes,
  choice,
  count,
  duration,
  headerSecret,
  secretUrl,
  httpUrl,
  marks,
  name,
  secret,
  secretFile,
  section,
} from './fields/fields.ts'
import { StateSetting, type StateConfig } from './state.ts'
import { TlsConfig } from './fields/tls.ts'

const printableName = (length: number) =>
  z.string().regex(new RegExp(`^[^\\p{C}\\p{Zl}\\p{Zp}]{1,${length}}$`, 'u'), {
    message: 'is empty, too long or not printable',
    abort: true,
  })

const ZoneId = z.int().min(1).describe('Shield zone id')

const ZoneSetting = z
  .union([
    ZoneId,
    z.strictObject({
      id: ZoneId,
      name: printableName(100).optional().describe('Name to show; default: the id'),
    }),
  ])
  .describe('A shield zone: its id, or { id, name }')
  .register(marks, { short: 'id' })

/** A list of zones, or all that the API lists. */
function zones(description: string) {
  return z
    .union([
      z.literal('all'),
      z.array(ZoneSetting),
      z.strictObject({
        all: z.literal(true).describe('All zones that the API lists for the key'),
        exclude: z.array(ZoneId).default([]).describe('Zones that are left out'),
        everyMinutes: duration('Time between two listings', { above: 0, max: 10_080 }).default(15),
      }),
    ])
    .default([])
    .describe(description)
}

const AccountSetting = z
  .strictObject({
    name: name('Name of the account, a metric label'),
    accessKey: headerSecret('Access key of the account').optional(),
    accessKeyFile: secretFile('the access key'),
    zones: zones('Zones that this key may read; all: those that the API lists'),
  })
  .describe('One account: its key, its zones and its own request budget')

const ApiConfig = section('The API that event logs are read from', {
  baseUrl: httpUrl('Address of the API', 'set the key as api.accessKey')
    .transform((text) => text.replace(/\/+$/, ''))
    .prefault('https://api.bunny.net'),
  accessKey: headerSecret('Access key, short form of one account').optional(),
  accessKeyFile: secretFile('the access key'),
  firstPage: z
    .string()
    .min(1)
    .default('omit')
    .describe('How the first page is requested: omit, empty, or any literal'),
  requestTimeoutSeconds: duration('Longest time to wait for an answer', { above: 0, max: 3600 }).default(30),
  maxPageBytes: bytes('Largest page that is accepted').default(33_554_432),
  maxBytesInFlight: bytes(
    'Memory for pages of the whole process, shared by its sinks; one page is always allowed',
  ).default(67_108_864),
  maxRequestsPerSecond: z
    .number()
    .gt(0)
    .max(10_000)
    .nullable()
    .default(null)
    .describe('Request budget of each account; null: no limit except the pauses that the API asks for'),
  tls: TlsConfig.prefault({}).describe('Certificates for the API'),
})

export const PollConfig = section('When streams are read', {
  everySeconds: duration('Time between two polls of a stream', { above: 0, max: 86_400 }).default(30),
  readableDays: count('Days that the API answers for, today included', { min: 2, max: 366 }).default(3),
  firstRunDays: count('Days to read for a new zone or sink, today included; default: readableDays', {
    max: 366,
  }).optional(),
  overlapMinutes: duration('Minutes of event time that every poll reads again', { max: 1440 }).default(10),
  fullScanMinutes: duration('Time between two full scans of an open day', { max: 10_080 }).default(60),
  settleAfterHours: z
    .array(duration('Hours after the end of a day', { max: 8760 }))
    .min(1)
    .optional()
    .describe('Hours after the end of a day at which a full scan reads it again; default: [0.5, 6, 24, 44]'),
})

const names = z.array(z.string().min(1))

export const RedactConfig = z
  .union([
    z.literal('off'),
    z.strictObject({
      headers: names.default(redactedHeaders).describe('Request headers whose value is masked'),
      query: names.default(redactedQuery).describe('Query parameters whose value is masked'),
      body: choice(['drop', 'keep'], 'Request bodies'),
      addresses: choice(
        ['keep', 'mask', 'drop', 'hash'],
        'Client addresses; mask hides the last part, hash replaces each by a hash with addressKey',
      ),
      addressKey: secret('Key of the hashes of addresses, at least 16 characters').optional(),
      addressKeyFile: secretFile('the key of the hashes of addresses'),
    }),
  ])
  .prefault({})
  .describe('What is masked before an event leaves the process; off: nothing')

const WorkersConfig = section('How many streams one process reads at once', {
  streams: count('Streams that one process reads at once', { max: 1024 }).default(8),
  backfillStreams: count('Backfill streams that one process reads at once, in addition', {
    max: 1024,
  }).default(2),
})

/** One line per kind of sink. */
export const SinkConfig = z.discriminatedUnion('type', [
  StdoutSinkConfig,
  FileSinkConfig,
  HttpSinkConfig,
  SyslogSinkConfig,
  S3SinkConfig,
  KafkaSinkConfig,
])
export type SinkConfig = Readonly<z.output<typeof SinkConfig>>

const DeadLettersConfig = section('Events that a sink never accepts', {
  maxBytes: bytes(
    'Space for the dead letters of each sink in the store; a stream stops at a dead letter that does not fit',
  ).default(67_108_864),
})

const address = {
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  port: count('Port to listen on; 0 takes a free one and prints it', { min: 0, max: 65_535 }).default(9871),
}

/** Where the server listens. */
export const ServerAddress = z.strictObject(address)
export type ServerAddress = Readonly<z.output<typeof ServerAddress>>

const ServerConfig = section('HTTP server for metrics, health and status', {
  ...address,
  readyLagSeconds: duration('Lag above which /readyz answers 503', { above: 0, max: 31_536_000 }).default(
    900,
  ),
  token: headerSecret('Bearer token for /metrics and /status').optional(),
  tokenFile: secretFile('the bearer token'),
})

const everyMinutes = duration('Time between two readings', { above: 0, max: 10_080 }).default(60)

const AppId = printableName(200).describe('Id of a container application')

const AppSetting = z
  .union([
    AppId,
    z.strictObject({
      id: AppId,
      account: name('Account that owns it; needed where there are several').optional(),
    }),
  ])
  .describe('A container application: its id, or { id, account }')
  .register(marks, { short: 'id' })

const MetricsSetting = section('What is read from the API for metrics, besides event logs', {
  uploadScanning: z
    .strictObject({ everyMinutes })
    .optional()
    .describe('What upload scanning did in each zone, as metrics; off unless given'),
  volumes: z
    .strictObject({
      apps: z.array(AppSetting).default([]).describe('Applications whose volumes are read'),
      everyMinutes,
    })
    .optional()
    .describe('How full the volumes of container applications are, as metrics; off unless given'),
})

const PlaceSetting = z.strictObject({
  name: name('Name in the log and in metrics'),
  kind: choice(['json', 'slack', 'discord', 'teams', 'ntfy', 'pagerduty'], 'Whose form the message has'),
  url: secretUrl('Where the message is sent; default of pagerduty: its Events API').optional(),
  urlFile: secretFile('the url'),
  routingKey: secret('Integration key of pagerduty').optional(),
  routingKeyFile: secretFile('the integration key'),
})

const HeartbeatSetting = section(
  'A request that says that all is well, for a monitor that notices when it stops',
  {
    url: secretUrl('Requested by GET; with /fail, by POST, while something is wrong').optional(),
    urlFile: secretFile('the url'),
    everyMinutes: duration('Time between two requests', { above: 0, max: 1_440 }).default(1),
  },
)

const LogConfig = section('The log on stderr', {
  level: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Lowest level that is logged'),
  format: choice(['auto', 'pretty', 'json'], 'auto: pretty on a terminal, else json'),
})

/** The whole file. */
export const ConfigFile = z.strictObject({
  api: ApiConfig,
  zones: zones('Zones of api.accessKey, short form of one account; all: those that the API lists'),
  accounts: z.array(AccountSetting).default([]).describe('Accounts, long form of api.accessKey with zones'),
  poll: PollConfig,
  redact: RedactConfig,
  state: StateSetting,
  workers: WorkersConfig,
  sinks: z
    .array(SinkConfig)
    .prefault([])
    .describe('Where events go; default: one stdout sink in native format'),
  deadLetters: DeadLettersConfig,
  server: ServerConfig,
  metrics: MetricsSetting,
  notify: z.array(PlaceSetting).default([]).describe('Who is told when a problem begins and when it is over'),
  heartbeat: HeartbeatSetting,
  log: LogConfig,
})
export type ConfigFile = z.output<typeof ConfigFile>

export interface AccountConfig {
  readonly name: string
  readonly accessKey: Secret
  /** Where zones are discovered: those known so far, none once loaded. */
  readonly zones: readonly Zone[]
  /** Present where all zones that the API lists are shipped. */
  readonly discovery?: { readonly exclude: readonly number[]; readonly everyMinutes: number }
}

export type PollConfig = Readonly<Omit<ConfigFile['poll'], 'firstRunDays' | 'settleAfterHours'>> & {
  readonly firstRunDays: number
  /** Ascending, without duplicates. */
  readonly settleAfterHours: readonly number[]
}

/** What is absent is off. */
export interface MetricsConfig {
  readonly uploadScanning?: Readonly<NonNullable<ConfigFile['metrics']['uploadScanning']>>
  readonly volumes?: { readonly apps: readonly App[]; readonly everyMinutes: number }
}

/** The complete configuration that the program is built from; all defaults are resolved. */
export interface Config extends Readonly<Pick<ConfigFile, 'redact' | 'workers' | 'deadLetters' | 'log'>> {
  readonly accounts: readonly AccountConfig[]
  readonly api: Readonly<Omit<ConfigFile['api'], 'accessKey' | 'accessKeyFile'>>
  readonly poll: PollConfig
  readonly state: StateConfig
  /** Never empty. */
  readonly sinks: readonly SinkConfig[]
  readonly server: Readonly<Omit<ConfigFile['server'], 'tokenFile'>> & {
    /** True when any setting of `server` was set; a run that ends by itself serves HTTP only then. */
    readonly configured: boolean
  }
  readonly metrics: MetricsConfig
  readonly notify: readonly PlaceConfig[]
  /** Absent where it is off. */
  readonly heartbeat?: { readonly url: Secret; readonly everyMinutes: number }
}

/** A place of `notify`. */
export interface PlaceConfig {
  readonly name: string
  readonly kind: ConfigFile['notify'][number]['kind']
  readonly url: Secret
  readonly routingKey?: Secret
}
