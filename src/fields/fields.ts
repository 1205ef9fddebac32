import * as z from 'zod'
import { headerValueError, urlError, type SettingError } from '../domain/text/http-rules.ts'
import { Secret } from '../domain/text/secret.ts'
import { networkOf } from '../domain/text/network.ts'

// By default zod compiles a parser for each schema, which costs more than it saves: a configuration is parsed once.
z.config({ jitless: true })

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
  /** What `config print` says beside the value. */
  readonly note?: string
  /** Keys that exclude each other; a higher layer that sets one removes the others. */
  readonly exclusive?: readonly (readonly string[])[]
}

export const marks = z.registry<Marks>()

/** Registers what is known of a field: `describe` would build each schema once more, 0.1 ms of every start. */
export function described<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  mark?: Marks,
): Schema {
  z.globalRegistry.add(schema, { description })
  if (mark !== undefined) marks.add(schema, mark)
  return schema
}

/** Text of one form; `remedy` says which. */
export function patternText(pattern: RegExp, problem: string, remedy: string, description: string) {
  return described(z.string().regex(pattern, { message: problem, abort: true }), description, { remedy })
}

export const safeName = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** A name that becomes part of file names, metric labels and keys of a store. */
export function name(description: string) {
  const schema = z.string().regex(safeName, { message: 'is not a valid name', abort: true })
  const remedy = 'use at most 63 lower-case letters, digits, "_" and "-", beginning with a letter or digit'
  return described(schema, description, { remedy })
}

const emptySecret = { problem: 'is empty', remedy: 'set the secret, or remove the setting' }

/** `errorOf` says what is wrong with its text. */
export function secret(
  description: string,
  errorOf: (text: string) => SettingError | undefined = (text) => (text === '' ? emptySecret : undefined),
) {
  const schema = z
    .custom<Secret>((value) => value instanceof Secret)
    .superRefine((value, context) => {
      if (value.isResolved) addIssue(context, errorOf(value.reveal()))
    })
  return described(schema, description, { kind: 'secret' })
}

/** An http or https URL that may hold a token. */
export function secretUrl(description: string) {
  const error = { problem: 'is not a URL', remedy: 'write one that begins with https://' }
  return secret(description, (text) => (/^https?:/.test(URL.parse(text)?.protocol ?? '') ? undefined : error))
}

/** A secret that is sent in a header. */
export function headerSecret(description: string) {
  return secret(description, headerValueError)
}

export function path(description: string) {
  return described(z.string().min(1).max(4096), description, { kind: 'path' })
}

/** A file name, or null. */
export function optionalPath(description: string) {
  return described(path(description).nullable().default(null), description)
}

/** The name of a file that holds the secret `of`; the loader reads it and replaces it by a Secret. */
export function secretFile(of: string) {
  return optionalPath(`File that contains ${of}; read again when ${of} is refused`)
}

export function addIssue(
  context: Pick<z.RefinementCtx, 'addIssue'>,
  error: SettingError | undefined,
  path: (string | number)[] = [],
): void {
  if (error === undefined) return
  context.addIssue({ code: 'custom', path, message: error.problem, params: { ...error }, continue: false })
}

/** An http or https URL; `instead` says where a user name and password belong. */
export function httpUrl(description: string, instead: string) {
  const schema = z.string().superRefine((text, context) => addIssue(context, urlError(text, instead)))
  return described(schema, description, { kind: 'url' })
}

/** A duration; the field's name contains the unit. Without `above` it may be 0. */
export function duration(description: string, limits: { above?: number; max: number }) {
  const field = limits.above === undefined ? z.number().min(0) : z.number().gt(limits.above)
  return described(field.max(limits.max), description)
}

export function count(description: string, { min = 1, max }: { min?: number; max: number }) {
  return described(z.int().min(min).max(max), description)
}

export function bytes(description: string, { min = 1 }: { min?: number } = {}) {
  return described(z.int().min(min), `${description}, in bytes`)
}

/** One of these words; the first is the default. */
export function choice<const Word extends string>(words: readonly [Word, ...Word[]], description: string) {
  return described(z.enum(words).default(words[0] as never), description)
}

/** A section of the file, whose settings all have defaults or may be absent. */
export function section<Settings extends z.core.$ZodLooseShape>(description: string, settings: Settings) {
  return described(z.strictObject(settings).prefault({} as never), description)
}

/** Permission bits: octal text in the file, a number after parsing. `owner` are the bits that must be set. */
export function mode(description: string, owner: number) {
  const schema = z
    .string()
    .regex(/^0?[0-7]{3}$/, { message: 'is not an octal mode', abort: true })
    .refine((text) => (Number.parseInt(text, 8) & owner) === owner, { message: 'denies the owner access' })
  const remedy = `write octal digits in quotes, with at least the bits of "0${owner.toString(8)}"`
  return described(schema, `${description}; octal, in quotes`, { kind: 'mode', remedy }).transform((text) =>
    Number.parseInt(text, 8),
  )
}

/** Every format that a sink can write. */
export const formatNames = ['native', 'raw', 'ecs', 'ocsf', 'otlp', 'cef'] as const
export type FormatName = (typeof formatNames)[number]
/** Those whose lines are JSON. */
export const jsonFormatNames = ['native', 'raw', 'ecs', 'ocsf', 'otlp'] as const

export function format() {
  return choice(formatNames, 'Format of each event')
}

/** Listed values pass; with `not`, all others do. */
function listOrNot<Item extends z.ZodType>(item: Item, description: string) {
  const list = z.array(item).min(1)
  return z
    .union([list, z.strictObject({ not: list.describe('Events with these values stay out') })])
    .optional()
    .describe(description)
}

const text = z.string().min(1)

function checked(test: (value: string) => boolean, problem: string, description: string, remedy: string) {
  return described(text.refine(test, { message: problem }), description, { remedy })
}

const address = checked(
  (value) => networkOf(value) !== undefined,
  'is not an address or a network',
  'An IP address or a network',
  'write an address such as 203.0.113.9, or a network such as 203.0.113.0/24 or 2001:db8::/32',
)
const host = checked(
  (value) => !/[/\s]/.test(value),
  'is not a host',
  'A host, with * for any text',
  'write it without scheme and path, such as shop.example or *.example',
)
const requestPath = checked(
  (value) => /^[/*][^?]*$/.test(value),
  'is not a path',
  'A path, with * for any text',
  'begin it with / or *, and leave out the query, such as /login or *.php',
)

const lists = {
  zones: listOrNot(z.union([z.int().min(0), text]), 'Shield zones, by id or name'),
  actions: listOrNot(text, 'Actions such as Blocked, in any case'),
  severities: listOrNot(text, 'Severities such as critical, in any case'),
  rules: listOrNot(z.union([z.int().min(0), text]), 'Ids of rules'),
  countries: listOrNot(text, 'Countries of clients, two letters'),
  hosts: listOrNot(host, 'Hosts of the requests, in any case; * stands for any text'),
  paths: listOrNot(requestPath, 'Paths of the requests, without the query; * stands for any text'),
  methods: listOrNot(text, 'Methods of the requests, in any case'),
  asns: listOrNot(z.int().min(0).max(4_294_967_295), 'Numbers of autonomous systems of clients'),
  addresses: listOrNot(address, 'Addresses and networks (CIDR) of clients'),
  userAgents: listOrNot(text, 'User agents, in any case; * stands for any text'),
}

/** Which events a sink gets. An event must pass every list that is given. */
export const where = z
  .strictObject({
    ...lists,
    any: z.array(z.strictObject(lists)).min(1).optional().describe('Alternatives: an event must pass one'),
  })
  .optional()
  .describe('Which events the sink gets; all unless given')

const shares = z.record(text, z.number().min(0).max(1)).optional()

/** Which share of the events with an action or of a rule a sink gets. */
export const sample = z
  .strictObject({
    actions: shares.describe('By action, as in { Logged: 0.1 }'),
    rules: shares.describe('By the id of the rule, as in { "941100": 0.1 }'),
  })
  .optional()
  .describe('Share of some events that the sink gets, from 0 to 1; the id of an event decides')

function part(description: string) {
  return described(z.boolean().optional(), description)
}

/** Names of fields that a destination or a format has beside the constants. */
const taken = /^(?:action|severity|pop|asn|country|rule_group|match|labels|log|shield_zone|hour)$/
const constantName = /^(?:[a-z][a-z0-9_]{0,62}|data_stream\.(?:type|dataset|namespace))$/
const notAName = {
  problem: 'is not the name of a constant, or is a field of the events',
  remedy: 'use lower-case letters, digits and "_", a letter first, and no name of a field such as action',
}

const constant = described(
  z.string().regex(/^[^\p{C}\p{Zl}\p{Zp},]{1,200}$/u, { message: 'is empty, too long or not printable' }),
  'Text',
  { remedy: 'write text of at most 200 printable characters without a comma' },
)

const constants = z
  .record(z.string(), constant)
  .superRefine((given, context) => {
    const names = Object.keys(given)
    const wrong = names.find((one) => !constantName.test(one) || taken.test(one))
    if (wrong !== undefined) addIssue(context, notAName, [wrong])
    if (names.length > 20)
      addIssue(context, { problem: `has ${names.length} constants`, remedy: 'give at most 20' })
  })
  .optional()
  .describe('Constant fields of every event of this sink, such as { env: prod }; no secrets')

/** Settings of every sink, whatever its type. */
export const onAnySink = {
  include: described(
    z
      .strictObject({
        labels: part('The labels as received'),
        log: part('The decoded log'),
        raw: part('The whole entry as received, redacted'),
      })
      .optional(),
    'What a line holds besides its fields; each format has its own defaults',
  ),
  set: constants,
  where,
  sample,
}
