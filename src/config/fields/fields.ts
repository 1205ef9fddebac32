import * as z from 'zod'
import { headerValueError, urlError, type SettingError } from '../../domain/text/http-rules.ts'
import { Secret } from '../../domain/text/secret.ts'

// By default zod compiles a parser for each schema, which costs more than it saves: a configuration is parsed once.
z.config({ jitless: true })

/** Listed values pass; with `not`, all others do. */
function listOrNot<Item extends z.ZodType>(item: Item, description: string) {
  const list = z.array(item).min(1)
  return z
    .union([list, z.strictObject({ not: list.describe('Events with these values stay out') })])
    .optional()
    .describe(description)
}

const text = z.string().min(1)

/** Which events a sink gets. An event must pass every list that is given. */
export const where = z
  .strictObject({
    zones: listOrNot(z.union([z.int().min(0), text]), 'Shield zones, by id or name'),
    actions: listOrNot(text, 'Actions such as Blocked, in any case'),
    severities: listOrNot(text, 'Severities such as critical, in any case'),
    rules: listOrNot(z.union([z.int().min(0), text]), 'Ids of rules'),
    countries: listOrNot(text, 'Countries of clients, two letters'),
  })
  .optional()
  .describe('Which events the sink gets; all unless given')

/** Which share of the events with an action a sink gets. */
export const sample = z
  .record(text, z.number().min(0).max(1))
  .optional()
  .describe(
    'Share of the events with an action, from 0 to 1, as in { Logged: 0.1 }; the id of an event decides',
  )

/**
 * How the loader converts a scalar before validation, and how it may be shown:
 * - `secret`: becomes a Secret, read again when refused; never shown. A field `xFile` beside it may name a file
 * instead.
 * - `path`: relative paths start at the working directory.
 * - `url`: shown without user name, password and query.
 * - `address`: a host, shown like a URL.
 * - `mode`: text of octal digits, which YAML would otherwise parse as a number.
 */
export type FieldKind = 'secret' | 'path' | 'url' | 'address' | 'mode'

/** What the loader needs to know of a schema beyond its type. */
export interface Marks {
  readonly kind?: FieldKind
  /** The remedy for a refused value, where the type alone does not give it. */
  readonly remedy?: string
  /** A scalar in place of the object sets this key of it. */
  readonly short?: string
  /** Keys that exclude each other; a higher layer that sets one removes the others. */
  readonly exclusive?: readonly (readonly string[])[]
}

export const marks = z.registry<Marks>()

// Fields register their description: `describe` would build each schema once more, which takes 0.1 ms at every start.

export const safeName = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** A name that becomes part of file names, metric labels and keys of a store. */
export function name(description: string) {
  return z
    .string()
    .regex(safeName, { message: 'is not a valid name', abort: true })
    .register(z.globalRegistry, { description })
    .register(marks, {
      remedy: 'use at most 63 lower-case letters, digits, "_" and "-", beginning with a letter or digit',
    })
}

export function secret(description: string) {
  return z
    .custom<Secret>((value) => value instanceof Secret)
    .refine((value) => !value.isResolved || value.reveal() !== '', {
      message: 'is empty',
      params: { remedy: 'set the secret, or remove the setting' },
      abort: true,
    })
    .register(z.globalRegistry, { description })
    .register(marks, { kind: 'secret' })
}

/** A secret that is sent in a header. */
export function headerSecret(description: string) {
  return z
    .custom<Secret>((value) => value instanceof Secret)
    .superRefine((value, context) => {
      if (value.isResolved) addIssue(context, headerValueError(value.reveal()))
    })
    .register(z.globalRegistry, { description })
    .register(marks, { kind: 'secret' })
}

export function path(description: string) {
  return z
    .string()
    .min(1)
    .max(4096)
    .register(z.globalRegistry, { description })
    .register(marks, { kind: 'path' })
}

/** A file name, or null. */
export function optionalPath(description: string) {
  return path(description).nullable().default(null).register(z.globalRegistry, { description })
}

/** The name of a file that holds the secret `of`; the loader reads it and replaces it by a Secret. */
export function secretFile(of: string) {
  return optionalPath(`File that contains ${of}; read again when ${of} is refused`)
}

export function addIssue(
  context: Pick<z.RefinementCtx, 'addIssue'>,
  error: SettingError | undefined,
  path: string[] = [],
): void {
  if (error === undefined) return
  context.addIssue({ code: 'custom', path, message: error.problem, params: { ...error }, continue: false })
}

/** An http or https URL; `instead` says where a user name and password belong. */
export function httpUrl(description: string, instead: string) {
  return z
    .string()
    .superRefine((text, context) => addIssue(context, urlError(text, instead)))
    .register(z.globalRegistry, { description })
    .register(marks, { kind: 'url' })
}

/** A duration; the field's name contains the unit. Without `above` it may be 0. */
export function duration(description: string, limits: { above?: number; max: number }) {
  const field = limits.above === undefined ? z.number().min(0) : z.number().gt(limits.above)
  return field.max(limits.max).register(z.globalRegistry, { description })
}

export function count(description: string, limits: { min?: number; max: number }) {
  return z
    .int()
    .min(limits.min ?? 1)
    .max(limits.max)
    .register(z.globalRegistry, { description })
}

export function bytes(description: string, limits: { min?: number } = {}) {
  return z
    .int()
    .min(limits.min ?? 1)
    .register(z.globalRegistry, { description: `${description}, in bytes` })
}

/** Permission bits: octal text in the file, a number after parsing. `owner` are the bits that must be set. */
export function mode(description: string, owner: number) {
  return z
    .string()
    .regex(/^0?[0-7]{3}$/, { message: 'is not an octal mode', abort: true })
    .refine((text) => (Number.parseInt(text, 8) & owner) === owner, {
      message: 'denies the owner access',
    })
    .register(z.globalRegistry, { description: `${description}; octal, in quotes` })
    .register(marks, {
      kind: 'mode',
      remedy: `write octal digits in quotes, with at least the bits of "0${owner.toString(8)}"`,
    })
    .transform((text) => Number.parseInt(text, 8))
}

/** Every format that a sink can write. */
export const formatNames = ['native', 'raw', 'ecs', 'ocsf', 'otlp', 'cef'] as const
export type FormatName = (typeof formatNames)[number]
/** Those whose lines are JSON. */
export const jsonFormatNames = ['native', 'raw', 'ecs', 'ocsf', 'otlp'] as const

export function format() {
  return z
    .enum(formatNames)
    .default('native')
    .register(z.globalRegistry, { description: 'Format of each event' })
}

function part(description: string) {
  return z.boolean().optional().register(z.globalRegistry, { description })
}

/** Settings of every sink, whatever its type. */
export const onAnySink = {
  include: z
    .strictObject({
      labels: part('The labels as received'),
      log: part('The decoded log'),
      raw: part('The whole entry as received, redacted'),
    })
    .optional()
    .register(z.globalRegistry, {
      description: 'What a line holds besides its fields; each format has its own defaults',
    }),
  where,
  sample,
}
