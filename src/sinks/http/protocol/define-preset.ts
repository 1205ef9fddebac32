import * as z from 'zod'
import {
  addIssue,
  bytes,
  choice,
  count,
  described,
  duration,
  type FormatName,
  headerSecret,
  jsonFormatNames,
  name,
  onAnySink,
  secretFile,
  section,
} from '../../../fields/fields.ts'
import { TlsConfig } from '../../../fields/pem-files.ts'
import type { SettingError } from '../../../domain/text/http-rules.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import type { Format } from '../../../ports/delivery.ts'
import {
  arrayLayout,
  type BatchLimits,
  checkByEmptyBatch,
  type Compression,
  type EmptyBatch,
  lineLayout,
  type Preset,
  readError,
  readStatus,
} from './preset.ts'

type First<Value> = readonly [Value, ...Value[]]

/** A preset without the settings that every preset has. */
interface Definition<Own extends z.core.$ZodLooseShape> {
  readonly name: string
  /** Name of the destination for people, in menus. */
  readonly title: string
  readonly description: string
  /** Formats that its bodies may contain; the first is the default. Absent: those whose lines are JSON objects. */
  readonly formats?: First<FormatName>
  /** The first is the default. Absent: gzip and none. */
  readonly compressions?: First<Compression>
  /** Limits of `batch`, from `limits`; default of `maxEvents`: 1,000, at most 10,000. */
  readonly batch: { readonly maxBytes: z.ZodType<number> } & {
    readonly [Limit in keyof BatchLimits]?: z.ZodType<number>
  }
  readonly credential?: Credential
  readonly settings: Own
  /** Errors between settings that are valid one by one. */
  mistakes?(settings: z.output<z.ZodObject<Own>> & HttpSettings): readonly SettingMistake[]
  /** Requests carry the credential, unless it authorises them itself. `check` may be a body without events. */
  create(
    settings: z.output<z.ZodObject<Own>> & HttpSettings,
    format: Format,
    credential: Secret | undefined,
  ): PresetParts
}

/** How a sink speaks. Default: bodies are JSON arrays of lines (NDJSON with `lineLayout`), answers are read by status. */
interface PresetParts extends Pick<Preset, 'url'>, Partial<Omit<Preset, 'url' | 'check'>> {
  /** The statuses that acknowledge a body, unless it says that it failed; default: any 2xx. */
  readonly acknowledges?: readonly number[]
  /** What to do about a status, where the destination means more by it than others do. */
  readonly remedies?: Readonly<Record<number, string>>
  readonly check: Preset['check'] | EmptyBatch
}

type Described = Definition<z.core.$ZodLooseShape>

interface DefinedPreset extends Pick<Described, 'name' | 'title' | 'description'> {
  readonly schema: z.ZodObject<CommonShape, z.core.$strict>
  create(settings: HttpSettings, format: Format): Preset
}

type CommonShape = ReturnType<typeof commonSettings> & {
  readonly type: z.ZodLiteral<'http'>
  readonly preset: z.ZodLiteral<string>
  readonly url: z.ZodOptional<z.ZodString>
}

/** The settings that a sink has with any preset; others depend on it. */
export type HttpSettings = Readonly<z.output<z.ZodObject<CommonShape, z.core.$strict>>> & {
  /** The `url` where a secret file is inserted in it: may be read again. */
  readonly secretUrl?: Secret
}

/** The preset of a sink of type http without `preset`. */
const defaultPreset = 'ndjson'

export function definePreset<Own extends z.core.$ZodLooseShape>(definition: Definition<Own>): DefinedPreset {
  const { name: presetName, title, description, mistakes, credential } = definition
  const { formats = jsonFormatNames, compressions = ['gzip', 'none'] } = definition
  const { name: ownName, format, ...common } = commonSettings(formats, compressions, definition.batch)
  const preset = z.literal(presetName).describe('Protocol of the destination')
  const schema: unknown = z
    .strictObject({
      type: described(z.literal('http'), 'Kind of sink'),
      preset: presetName === defaultPreset ? preset.optional().default(presetName) : preset,
      name: ownName,
      format,
      ...definition.settings,
      ...(credential && credentialFields(credential)),
      ...common,
    })
    .meta({ title, description })
    .superRefine((given: unknown, context) => {
      const own = mistakes?.(given as Parameters<typeof mistakes>[0]) ?? []
      const ofCredential = credential === undefined ? [] : credentialMistakes(credential, given as Given)
      for (const { at, ...mistake } of [...own, ...ofCredential]) addIssue(context, mistake, [at].flat())
    })
  return {
    ...definition,
    schema: schema as DefinedPreset['schema'],
    create(settings, format) {
      const given: Given = settings
      const secret = credential && (given[credential.field] as Secret | undefined)
      // The settings were parsed by the schema above.
      const parts = definition.create(settings as Parameters<typeof definition.create>[0], format, secret)
      const { acknowledges, remedies, check, layout = arrayLayout } = parts
      const { read = (answer) => readError(answer) ?? readStatus(answer.status, acknowledges, remedies) } =
        parts
      return {
        mediaType: layout === lineLayout ? 'application/x-ndjson' : 'application/json',
        layout,
        piece: (_event, line) => line,
        ...(credential !== undefined && { authorise: authoriseBy(credential, given) }),
        ...parts,
        read,
        check: typeof check === 'function' ? check : (ask) => checkByEmptyBatch(ask, check, read),
      }
    },
  }
}

type Given = Readonly<Record<string, unknown>>

const Headers = described(
  z.record(z.string(), headerSecret('Header value')).superRefine((headers, context) => {
    const seen: string[] = []
    for (const header of Object.keys(headers)) {
      addIssue(context, headerNameError(header, seen), [header])
      seen.push(header)
    }
  }),
  'Headers of every request; their values are secrets',
).default({})
const sinkName = name('Name of the sink; a new name begins with new checkpoints').default('http')
const timeoutSeconds = duration('Longest time to wait for an answer', { above: 0, max: 3600 }).default(30)
const tls = described(TlsConfig.prefault({}), 'Certificates for this sink')

function commonSettings(
  formats: First<FormatName>,
  compressions: First<Compression>,
  batch: Described['batch'],
) {
  const limited: unknown = section('Limits of one request', {
    maxEvents: limits.maxEvents(1000, 10_000),
    ...batch,
  })
  return {
    name: sinkName,
    format: choice(formats, 'Format of each event'),
    ...onAnySink,
    headers: Headers,
    compression: choice(compressions, 'How bodies are compressed'),
    timeoutSeconds,
    batch: limited as z.ZodType<BatchLimits>,
    tls,
  }
}

const least = { min: 1024 }

/** Each has a default, and the largest value that the destination takes. */
export const limits = {
  maxEvents: (usual: number, most = usual) =>
    count('Largest number of events in one body', { max: most }).default(usual),
  maxBytes: (usual: number, most = usual) =>
    bytes('Largest body before compression', least).max(most).default(usual),
  maxEventBytes: (usual: number, most = usual) => bytes('Largest event', least).max(most).default(usual),
  maxAgeHours: (usual: number, most = usual) =>
    duration('Age above which an event is not sent', { above: 0, max: most }).default(usual),
}

/** The secret in the settings of a preset, and the header that a request carries it in. */
interface Credential {
  /** The setting; `<field>File` may name a file instead. */
  readonly field: string
  readonly description: string
  /** Default: authorization. */
  readonly header?: string
  /** Stands before the secret, as `Bearer` does. */
  readonly scheme?: string
  /** Some destinations need none; some also take a user name with its password (HTTP Basic) in place of it. */
  readonly optional?: 'orNone' | 'orBasic'
}

const basicFields = {
  username: z.string().min(1).optional().describe('User name, with password'),
  password: headerSecret('Password of that user').optional(),
  passwordFile: secretFile('the password'),
}

function credentialFields({ field, description, optional }: Credential): z.core.$ZodLooseShape {
  return {
    [field]: headerSecret(description).optional(),
    [`${field}File`]: secretFile(field),
    ...(optional === 'orBasic' && basicFields),
  }
}

/** The errors: the secret is missing, user name or password without the other, or both kinds together. */
function credentialMistakes({ field, optional }: Credential, given: Given): SettingMistake[] {
  const has = (name: string) => given[name] !== undefined
  if (optional === undefined && !has(field))
    return [{ at: field, problem: 'is missing', remedy: `give ${field} or ${field}File` }]
  const remedy = `give username with password, or ${field}`
  if (has('username') !== has('password'))
    return [{ at: has('username') ? 'password' : 'username', problem: 'is missing', remedy }]
  return has('username') && has(field) ? [{ at: field, problem: 'cannot be used with username', remedy }] : []
}

/** The header with the current secret; none without one. */
function authoriseBy({ field, header = 'authorization', scheme }: Credential, given: Given) {
  const reveal = (name: string) => (given[name] as Secret | undefined)?.reveal()
  return async (): Promise<Record<string, string>> => {
    const [own, password] = [reveal(field), reveal('password')]
    if (own !== undefined) return { [header]: scheme === undefined ? own : `${scheme} ${own}` }
    if (password === undefined) return {}
    const login = Buffer.from(`${String(given['username'])}:${password}`).toString('base64')
    return { [header]: `Basic ${login}` }
  }
}

/** An error between settings that are valid one by one. */
interface SettingMistake extends SettingError {
  /** The setting, or its path within the sink. */
  readonly at: string | string[]
}

const headerName = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
/**
 * Headers that frame a request, that the sink sets for each body, or that proxies read and remove; a second value would
 * break or forge requests.
 */
const notConfigured =
  /^(?:connection|content-(?:encoding|length|type)|expect|forwarded|host|idempotency-key|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|via)$/i

/** The error of a configured header name; undefined for a valid one. `before` are the names before it. */
export function headerNameError(header: string, before: readonly string[]): SettingError | undefined {
  if (!headerName.test(header))
    return { problem: 'is not a header name', remedy: 'use letters, digits and "-"' }
  if (notConfigured.test(header))
    return {
      problem: 'is a header that the sink sets or that proxies read',
      remedy: 'remove it, or choose another one',
    }
  const isTwice = before.some((name) => name.toLowerCase() === header.toLowerCase())
  return isTwice ? { problem: 'is given twice', remedy: 'keep one of them' } : undefined
}
