import { isIP } from 'node:net'
import * as z from 'zod'
import { withoutBrackets } from '../domain/text/http-rules.ts'
import { Secret } from '../domain/text/secret.ts'
import type { Zone } from '../domain/stream.ts'
import { AzureBlobSinkConfig } from '../sinks/azure-blob/config.ts'
import { FileSinkConfig } from '../sinks/file/config.ts'
import { HttpSinkConfig } from '../sinks/http/config.ts'
import { headerRule, queryRule } from '../shield/redaction/names.ts'
import { KafkaSinkConfig } from '../sinks/kafka/config.ts'
import { S3SinkConfig } from '../sinks/s3/config.ts'
import { StdoutSinkConfig } from '../sinks/stdout/config.ts'
import { SyslogSinkConfig } from '../sinks/syslog/config.ts'
import {
  addIssue,
  bytes,
  choice,
  count,
  described,
  duration,
  headerSecret,
  secretUrl,
  httpUrl,
  marks,
  name,
  secret,
  secretFile,
  section,
} from '../fields/fields.ts'
import { StateSetting, type StateConfig } from './state.ts'
import { TlsConfig } from '../fields/pem-files.ts'

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
  .transform((zone) => (typeof zone === 'number' ? { id: zone } : zone))
  .transform(({ id, name = String(id) }) => ({ id, name }))

const Discovery = z.strictObject({
  all: z.literal(true).describe('All zones that the API lists for the key'),
  exclude: z.array(ZoneId).default([]).describe('Zones that are left out'),
  everyMinutes: duration('Time between two listings', { above: 0, max: 10_080 }).default(15),
})

/** A list of zones, or all that the API lists. */
function zones(description: string) {
  return z
    .union([z.literal('all'), z.array(ZoneSetting), Discovery])
    .prefault([])
    .describe(description)
    .transform((given) => {
      if (Array.isArray(given)) return { listed: given }
      const { exclude, everyMinutes } = given === 'all' ? Discovery.parse({ all: true }) : given
      return { listed: [], discovery: { exclude, everyMinutes } }
    })
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
  firstPage: described(
    z.string().min(1).default('omit'),
    'Form of the first page: omit, empty, or any literal',
  ),
  requestTimeoutSeconds: duration('Longest time to wait for an answer', { above: 0, max: 3600 }).default(30),
  maxPageBytes: bytes('Largest page that is accepted').default(33_554_432),
  maxBytesInFlight: bytes(
    'Memory for pages of the whole process, shared by its sinks; one page is always allowed',
  ).default(67_108_864),
  maxRequestsPerSecond: described(
    z.number().gt(0).max(10_000).nullable().default(null),
    'Request budget of each account; null: no limit except the pauses that the API asks for',
  ),
  tls: TlsConfig.prefault({}).describe('Certificates for the API'),
})

const scanDefaults = [0.5, 6, 24, 44]

const PollConfig = section('When streams are read', {
  everySeconds: duration('Time between two polls of a stream', { above: 0, max: 86_400 }).default(30),
  readableDays: count('Days that the API answers for, today included', { min: 2, max: 366 }).default(3),
  firstRunDays: count('Days to read for a new zone or sink, today included; default: readableDays', {
    max: 366,
  }).optional(),
  overlapMinutes: duration('Minutes of event time that every poll reads again', { max: 1440 }).default(10),
  fullScanMinutes: duration('Time between two full scans of an open day', { max: 10_080 }).default(60),
  settleAfterHours: described(
    z
      .array(duration('Hours after the end of a day', { max: 8760 }))
      .min(1)
      .optional(),
    'Hours after the end of a day at which a full scan reads it again; default: [0.5, 6, 24, 44]',
  ),
}).transform(({ firstRunDays, settleAfterHours, ...poll }, context) => {
  const { readableDays } = poll
  // The last full hour at which a day can still be read again to its end.
  const end = (readableDays - 1) * 24 - 1
  if (firstRunDays !== undefined && firstRunDays > readableDays) {
    const remedy = `set it to ${readableDays} or less; the API does not answer for older days`
    const problem = `is greater than readableDays (${readableDays})`
    addIssue(context, { problem, remedy }, ['firstRunDays'])
  }
  for (const [index, hours] of (settleAfterHours ?? []).entries()) {
    if (hours < end) continue
    const problem = `is too late: with readableDays ${readableDays} the API answers for less than ${end} hours after the end of a day`
    addIssue(context, { problem, remedy: `set it to less than ${end}` }, ['settleAfterHours', index])
  }
  const settling = settleAfterHours ?? scanDefaults.filter((hours) => hours < end)
  return {
    ...poll,
    firstRunDays: firstRunDays ?? readableDays,
    /** Ascending, without duplicates. */
    settleAfterHours: [...new Set(settling)].sort((a, b) => a - b),
  }
})

const names = z.array(z.string().min(1))
/** Of headers or parameters, besides those that a rule hides. */
const hiddenNames = (what: string, rule: string) =>
  described(names.default([]), `${what}, with *, that are hidden besides ${rule}`, {
    note: `besides ${rule}`,
  })
/** A shorter key could be guessed, and with it every address. */
const shortestKey = 16

const Redaction = z
  .strictObject({
    headers: hiddenNames('Headers', headerRule),
    query: hiddenNames('Query parameters', queryRule),
    keep: section('Names that stay although they would be hidden', {
      headers: names.default([]).describe('Headers, with *'),
      query: names.default([]).describe('Query parameters, with *'),
    }),
    body: choice(['drop', 'keep'], 'Request bodies'),
    addresses: choice(
      ['keep', 'mask', 'drop', 'hash'],
      'Client addresses; mask hides the last part, hash replaces each by a hash with addressKey',
    ),
    addressKey: secret('Key of the hashes of addresses, at least 16 characters').optional(),
    addressKeyFile: secretFile('the key of the hashes of addresses'),
  })
  .superRefine(({ addresses, addressKey }, context) => {
    if (addresses !== 'hash') return
    const remedy = `set addressKey or addressKeyFile to at least ${shortestKey} random characters`
    if (addressKey === undefined)
      addIssue(context, { problem: 'is missing, although addresses is hash', remedy }, ['addressKey'])
    else if (addressKey.isResolved && addressKey.reveal().length < shortestKey)
      addIssue(context, { problem: 'is too short', remedy }, ['addressKey'])
  })

export const RedactConfig = z
  .union([z.literal('off'), Redaction])
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
  AzureBlobSinkConfig,
  KafkaSinkConfig,
])
export type SinkConfig = Readonly<z.output<typeof SinkConfig>>

export const defaultSink: SinkConfig = { type: 'stdout', name: 'stdout', format: 'native' }

const DeadLettersConfig = section('Events that a sink never accepts', {
  maxBytes: bytes(
    'Space for the dead letters of each sink in the state; a stream stops at a dead letter that does not fit',
  ).default(67_108_864),
})

/** Labels of a name; a last one of digits only would be a short form of an IPv4 address. */
const hostName = /^(?!(.*\.)?\d+\.?$)[a-z0-9_]([\w-]*\w)?(\.\w([\w-]*\w)?)*\.?$/i

const listenHost = z
  .string()
  .refine((host) => isIP(withoutBrackets(host)) !== 0 || hostName.test(host), {
    message: 'is not an address or a name of this host',
  })
  .register(marks, { remedy: 'write one without scheme and port: 127.0.0.1, 0.0.0.0, ::1, :: or localhost' })

const address = {
  host: described(listenHost, 'Address or name to listen on')
    .transform(withoutBrackets)
    .prefault('127.0.0.1'),
  port: count('Port to listen on; 0 takes a free one and prints it', { min: 0, max: 65_535 }).default(9871),
}

/** Where the server listens. */
export const ServerAddress = z.strictObject(address)
export type ServerAddress = Readonly<z.output<typeof ServerAddress>>

const ServerConfig = section('HTTP server for metrics, health and status', {
  ...address,
  readyLagSeconds: duration('Lag above which /readyz is 503; at least two polls of the sink', {
    above: 0,
    max: 31_536_000,
  }).default(900),
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
  .transform((app) => (typeof app === 'string' ? { id: app, account: undefined } : app))

const MetricsSetting = section('What is read from the API for metrics, besides event logs', {
  uploadScanning: z
    .strictObject({ everyMinutes })
    .optional()
    .describe('What upload scanning did in each zone, as metrics; off unless given'),
  volumes: z
    .strictObject({
      apps: z.array(AppSetting).prefault([]).describe('Applications whose volumes are read'),
      everyMinutes,
    })
    .optional()
    .describe('How full the volumes of container applications are, as metrics; off unless given'),
})

const pagerdutyUrl = 'https://events.pagerduty.com/v2/enqueue'

/** A place of `notify`. */
const PlaceConfig = z
  .strictObject({
    name: name('Name in the log and in metrics'),
    kind: choice(['json', 'slack', 'discord', 'teams', 'ntfy', 'pagerduty'], 'Whose form the message has'),
    url: secretUrl('Where the message is sent; default of pagerduty: its Events API').optional(),
    urlFile: secretFile('the url'),
    routingKey: secret('Integration key of pagerduty').optional(),
    routingKeyFile: secretFile('the integration key'),
  })
  .transform(({ name, kind, url, routingKey }, context) => {
    const [needed, given] = kind === 'pagerduty' ? ['routingKey', routingKey] : ['url', url]
    if (given === undefined)
      addIssue(context, { problem: 'is missing', remedy: `set ${needed} or ${needed}File` }, [needed])
    if (kind !== 'pagerduty' && routingKey !== undefined)
      addIssue(context, { problem: `is not used by ${kind}`, remedy: 'remove it' }, ['routingKey'])
    return { name, kind, url: url ?? new Secret(pagerdutyUrl), ...(routingKey && { routingKey }) }
  })

const HeartbeatSetting = section('A request that says that all is well, for a monitor that misses it', {
  url: secretUrl('Requested by GET; with /fail, by POST, while something is wrong').optional(),
  urlFile: secretFile('the url'),
  everyMinutes: duration('Time between two requests', { above: 0, max: 1_440 }).default(1),
}).transform(({ url, everyMinutes }) => url && { url, everyMinutes })

const LogConfig = section('The log on stderr', {
  level: described(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    'Lowest level that is logged',
  ),
  format: choice(['auto', 'pretty', 'json'], 'auto: pretty on a terminal, else json'),
})

/** The whole file. */
export const ConfigFile = z.strictObject({
  api: ApiConfig,
  zones: zones('Zones of api.accessKey, short form of one account; all: those that the API lists'),
  accounts: z.array(AccountSetting).prefault([]).describe('Accounts, long form of api.accessKey with zones'),
  poll: PollConfig,
  redact: RedactConfig,
  state: StateSetting,
  workers: WorkersConfig,
  sinks: z
    .array(SinkConfig)
    .prefault([])
    .describe('Where events go; default: one stdout sink in native format')
    .transform((given): SinkConfig[] => (given.length > 0 ? given : [defaultSink])),
  deadLetters: DeadLettersConfig,
  server: ServerConfig,
  metrics: MetricsSetting,
  notify: z.array(PlaceConfig).prefault([]).describe('Who is told when a problem begins and when it is over'),
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

/** The complete configuration that the program is built from; all defaults are resolved. */
export interface Config extends Readonly<
  Omit<ConfigFile, 'accounts' | 'api' | 'metrics' | 'server' | 'sinks' | 'state' | 'zones'>
> {
  readonly accounts: readonly AccountConfig[]
  /** Those of all accounts: one list, so that a plan can see that none has changed. */
  readonly zones: readonly Zone[]
  readonly api: Readonly<Omit<ConfigFile['api'], 'accessKey' | 'accessKeyFile'>>
  readonly state: StateConfig
  /** Never empty. */
  readonly sinks: readonly SinkConfig[]
  readonly server: Readonly<Omit<ConfigFile['server'], 'tokenFile'>> & {
    /** True when any setting of `server` was set; a run that ends by itself serves HTTP only then. */
    readonly configured: boolean
  }
  /** What is absent is off. */
  readonly metrics: Pick<ConfigFile['metrics'], 'uploadScanning'> & {
    readonly volumes?: {
      /** Container applications, each with the account whose key reads it. */
      readonly apps: readonly { readonly id: string; readonly account: string }[]
      readonly everyMinutes: number
    }
  }
}
