import * as z from 'zod'
import {
  addIssue,
  bytes,
  count,
  duration,
  type FormatName,
  headerSecret,
  jsonFormatNames,
  name,
  onAnySink,
} from '../../../config/fields/fields.ts'
import { TlsConfig } from '../../../config/fields/tls.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import type { Format } from '../../../ports/delivery.ts'
import type { EmptyBatch } from './answers.ts'
import { headerNameError, type SettingMistake } from './header-rules.ts'
import { type Credential, credentialFields, credentialMistakes } from './credentials.ts'
import type { BatchLimits, Compression, Preset } from './preset.ts'

const usualMaxEvents = { default: 1000, most: 10_000 }

/** A limit of a batch: its default and the largest value allowed. */
export interface Limit {
  readonly default: number
  readonly most?: number
}

export interface Limits {
  /** Events in one body; default: 1,000, at most 10,000. */
  readonly maxEvents?: Limit
  /** Bytes of one body before compression. */
  readonly maxBytes: Limit
  /** Bytes of one event in a body; absent if only the body is limited. */
  readonly maxEventBytes?: Limit
  /** Age of an event; absent if the destination accepts events of any age. */
  readonly maxAgeHours?: Limit
}

type Common = Required<Pick<PresetDefinition<string, never>, 'formats' | 'compressions'>> & {
  readonly limits: Limits & { readonly maxEvents: Limit }
}
type First<Value> = readonly [Value, ...Value[]]

/** A preset without the settings that every preset has. */
interface PresetDefinition<Name extends string, Own extends z.core.$ZodShape> {
  readonly name: Name
  /** Name of the destination for people, in menus. */
  readonly title: string
  readonly description: string
  /** Formats that its bodies may contain; the first is the default. Absent: those whose lines are JSON objects. */
  readonly formats?: First<FormatName>
  /** The first is the default. Absent: gzip and none. */
  readonly compressions?: First<Compression>
  readonly limits: Limits
  readonly credential?: Credential
  readonly settings: Own
  /** Errors between settings that are valid one by one. */
  mistakes?(settings: OwnAndHeaders<Own>): readonly SettingMistake[]
  /** Requests carry the credential, unless it authorises them itself. */
  create(
    settings: z.output<z.ZodObject<Own>> & CommonSettings,
    format: Format,
    credential: Secret | undefined,
  ): PresetParts
}

/** `check` may be a body without events that the destination answers like any other. */
export interface PresetParts extends Omit<Preset, 'check'> {
  readonly check: Preset['check'] | EmptyBatch
}

type OwnAndHeaders<Own extends z.core.$ZodShape> = z.output<z.ZodObject<Own>> &
  Pick<CommonSettings, 'headers'>

type CommonShape = ReturnType<typeof commonSettings>
type CommonSettings = z.output<z.ZodObject<CommonShape>>

type AllSettings<Name extends string, Own extends z.core.$ZodShape> = z.ZodObject<
  { type: z.ZodLiteral<'http'>; preset: z.ZodLiteral<Name> } & CommonShape & Own,
  z.core.$strict
>

const Headers = z
  .record(z.string(), headerSecret('Header value'))
  .superRefine((headers, context) => {
    const seen = new Set<string>()
    for (const header of Object.keys(headers)) {
      addIssue(context, headerNameError(header, seen), [header])
      seen.add(header.toLowerCase())
    }
  })
  .default({})
  .register(z.globalRegistry, { description: 'Headers of every request; their values are secrets' })

/** A preset with the schema of all of its settings. */
export function definePreset<const Name extends string, Own extends z.core.$ZodShape>(
  definition: PresetDefinition<Name, Own>,
): PresetDefinition<Name, Own> & Common & { readonly schema: AllSettings<Name, Own> } {
  const { name: presetName, title, description, mistakes, credential } = definition
  const { formats = jsonFormatNames, compressions = ['gzip', 'none'] } = definition
  const limits = { maxEvents: usualMaxEvents, ...definition.limits }
  const { name: ownName, format, ...common } = commonSettings({ formats, compressions, limits })
  const schema: unknown = z
    .strictObject({
      type: z.literal('http').register(z.globalRegistry, { description: 'Kind of sink' }),
      preset: presetField(presetName),
      name: ownName,
      format,
      ...definition.settings,
      ...credentialFields(credential),
      ...common,
    })
    .meta({ title, description })
    .superRefine((given, context) => {
      const own = mistakes?.(given as OwnAndHeaders<Own>) ?? []
      for (const { at, ...mistake } of [...own, ...credentialMistakes(credential, given)])
        addIssue(context, mistake, [at].flat())
    })
  return { ...definition, formats, compressions, limits, schema: schema as AllSettings<Name, Own> }
}

/** The preset of a sink of type http without `preset`. */
const defaultPreset: string = 'ndjson'

function presetField<const Name extends string>(presetName: Name): z.ZodLiteral<Name> {
  const field = z.literal(presetName).describe('Protocol of the destination')
  if (presetName !== defaultPreset) return field
  const withDefault: unknown = field.optional().default(presetName as never)
  return withDefault as z.ZodLiteral<Name>
}

const sinkName = name('Name of the sink; a new name begins with new checkpoints').default('http')
const timeoutSeconds = duration('Longest time to wait for an answer', { above: 0, max: 3600 }).default(30)
const tls = TlsConfig.prefault({}).register(z.globalRegistry, { description: 'Certificates for this sink' })

function commonSettings({ formats, compressions, limits }: Common) {
  return {
    name: sinkName,
    format: z
      .enum(formats)
      .default(formats[0])
      .register(z.globalRegistry, { description: 'Format of each event' }),
    ...onAnySink,
    headers: Headers,
    compression: z
      .enum(compressions)
      .default(compressions[0])
      .register(z.globalRegistry, { description: 'How bodies are compressed' }),
    timeoutSeconds,
    batch: batchOf(limits),
    tls,
  }
}

function batchOf({
  maxEvents,
  maxBytes,
  maxEventBytes,
  maxAgeHours,
}: Common['limits']): z.ZodType<BatchLimits> {
  const size = (description: string, limit: Limit) =>
    bytes(description, { min: 1024 }).max(mostOf(limit)).default(limit.default)
  const shape: z.core.$ZodLooseShape = {
    maxEvents: count('Largest number of events in one body', { max: mostOf(maxEvents) }).default(
      maxEvents.default,
    ),
    maxBytes: size('Largest body before compression', maxBytes),
  }
  if (maxEventBytes !== undefined) shape['maxEventBytes'] = size('Largest event', maxEventBytes)
  if (maxAgeHours !== undefined)
    shape['maxAgeHours'] = duration('Age above which an event is not sent', {
      above: 0,
      max: mostOf(maxAgeHours),
    }).default(maxAgeHours.default)
  const schema: unknown = z
    .strictObject(shape)
    .prefault({})
    .register(z.globalRegistry, { description: 'Limits of one request' })
  return schema as z.ZodType<BatchLimits>
}

function mostOf({ default: value, most = value }: Limit): number {
  return most
}
