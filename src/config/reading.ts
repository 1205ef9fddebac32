import { resolve } from 'node:path'
import { nearest } from '../domain/text/nearest.ts'
import { Secret } from '../domain/text/secret.ts'
import { complaint, flatten, refusedChoice, unresolvedHost } from './complaints.ts'
import { type ConfigError, isWithin, type Path, pathText, type Report, valueAt } from './errors.ts'
import { fileShape } from './file-shape.ts'
import { coerce, type Environment, isQuoted, namesIn, withoutQuotes } from './environment.ts'
import { type Needs, usesSecretsOf } from './needs.ts'
import { ConfigFile } from './schema.ts'
import {
  formFor,
  forms,
  isPlainObject,
  isScalar,
  objectForm,
  property,
  scalarForm,
  type Shape,
} from './shape.ts'
import { placesIn, readSourceFile, type SourceFile } from './source.ts'
import { expand, ExpandError, isTemplate, readSecretFile } from './templates.ts'

export interface LoadOptions {
  readonly argv?: {
    /** The file that -c names. */
    readonly config?: string | undefined
  }
  /** Settings as a file would have them, where a secret may be a Secret; no file is read then. */
  readonly draft?: Readonly<Record<string, unknown>>
  readonly env?: Environment
  readonly cwd?: string
  /** What the command requires; default: zones and their keys. */
  readonly needs?: Needs
}

/** Where a value came from. `where` names the file and line, or the environment name. */
interface Origin {
  readonly source: 'environment' | 'file' | 'default'
  readonly where?: string
}

/** One reading of the file and the environment: one walk over values and schema, which collects all errors. */
export class ConfigReading {
  readonly env: Environment
  readonly cwd: string
  readonly needs: Needs
  readonly file: SourceFile | undefined
  readonly errors: ConfigError[] = []
  /** Settings of the file that the environment replaces, each with the name that does. */
  readonly overridden = new Map<string, string>()
  /** Environment names that templates use. */
  readonly asked = new Set<string>()
  /** Values with templates as they are written, by path. */
  readonly templates = new Map<string, string>()
  /** Addresses in which a file is inserted, by path. */
  readonly secretUrls = new Map<string, Secret>()
  /** Why a value that the command does not use could not be read, by path. */
  readonly unresolved = new Map<string, string>()
  /** Where the file holds a secret as plain text. */
  readonly plainSecrets: string[] = []
  /** The settings as the schema takes them: templates expanded, secrets wrapped and read, paths absolute. */
  readonly written: unknown
  /** Names of the environment that are set, by the paths of their settings. */
  readonly #names: ReadonlyMap<string, string>
  /** Those of them that hold a document, in which templates are expanded as in a file. */
  readonly #documents = new Set<string>()
  readonly #shapes = new Map<string, Shape>()
  /** Places of objects whose kind no known name is near: what is missing there may belong to another kind. */
  readonly #guessed: string[] = []

  /** Throws ConfigErrors for a file that cannot be read or parsed. */
  constructor(env: Environment, { argv, draft, cwd = process.cwd(), needs = 'zones' }: LoadOptions) {
    this.env = env
    this.cwd = cwd
    this.needs = needs
    const named = argv?.config ?? (env['SHIELDLOG_CONFIG'] === '' ? undefined : env['SHIELDLOG_CONFIG'])
    const drafted = { label: 'draft', value: draft, lineOf: () => undefined }
    this.file = draft === undefined ? readSourceFile(named, cwd) : drafted
    this.#names = namesIn(env)
    this.written = this.#read(this.file?.value ?? {}, fileShape, [])
  }

  /** Where a file was looked for, if there is none. */
  get searched(): string[] {
    return this.file === undefined ? placesIn(this.cwd) : []
  }

  /** The origin of the innermost enclosing value that has one. */
  originOf(path: Path): Origin {
    const around = path.map((_, index) => path.slice(0, path.length - index))
    const name = around.map((place) => this.#names.get(pathText(place))).find((found) => found !== undefined)
    if (name !== undefined) return { source: 'environment', where: name }
    if (this.file === undefined) return { source: 'default' }
    const { label, lineOf } = this.file
    const line = around.map(lineOf).find((found) => found !== undefined)
    return { source: 'file', where: line === undefined ? label : `${label}:${line}` }
  }

  /** Reports one error per place, and none that follows from it. */
  readonly report: Report = (path, complained) => {
    const at = pathText(path)
    if (this.errors.some((error) => isWithin(at, error.path))) return
    const { source, where } = this.originOf(path)
    const isOfQuotes = source === 'environment' && isQuoted(this.env[where!])
    const told = isOfQuotes ? { ...complained, remedy: withoutQuotes } : complained
    this.errors.push({ path: at, ...told, ...(where === undefined ? {} : { where }) })
  }

  /** The settings by the schema; undefined after a report. */
  parse(): ConfigFile | undefined {
    if (!isPlainObject(this.written))
      return this.report([], {
        problem: 'is not a map of settings',
        remedy: 'begin with a setting such as "zones: [101]"',
      })
    const used = Object.entries(this.written).map(([section, value]) => [
      section,
      usesSecretsOf(section, this.needs) ? value : withoutTls(value),
    ])
    const parsed = ConfigFile.safeParse(Object.fromEntries(used))
    if (parsed.success) return parsed.data
    for (const { issue, path } of flatten(parsed.error.issues, [])) {
      const at = pathText(path)
      const shape = this.#shapes.get(at) ?? {}
      const value = valueAt(this.written, path)
      if (value === undefined && this.#guessed.some((place) => isWithin(at, place))) continue
      this.report(path, complaint(issue, { path, value, shape, template: this.templates.get(at) }))
    }
    return undefined
  }

  /** What stands in a place, with the environment over it. A value that does not fit stays; the schema then refuses it. */
  #read(inFile: unknown, shape: Shape, path: Path): unknown {
    const at = pathText(path)
    this.#shapes.set(at, shape)
    const name = this.#names.get(at)
    const given = name === undefined ? inFile : this.#fromEnvironment(name, inFile, shape, path)
    const inside = this.#setInside(at)
    const value = inside === undefined ? given : this.#opened(given, inside, shape, path)
    if (typeof value === 'string') return this.#readText(value, shape, path)
    const form = formFor(shape, value)
    if (isPlainObject(value))
      return form === undefined
        ? this.#readUnknownKind(value, shape, path)
        : this.#readObject(value, form, path)
    if (!Array.isArray(value) || form?.items === undefined) return value
    const { items } = form
    return value.map((item: unknown, index) => this.#read(item, items, [...path, index]))
  }

  #fromEnvironment(name: string, replaced: unknown, shape: Shape, path: Path): unknown {
    if ((replaced ?? null) !== null) this.overridden.set(pathText(path), name)
    const { value, isDocument, errors } = coerce(this.env[name]!, shape, name)
    if (isDocument === true) this.#documents.add(name)
    for (const error of errors) this.errors.push({ ...error, path: pathText(path) })
    return errors.length > 0 ? undefined : value
  }

  /** The object in which the environment sets something: that of the file, or what a text there is short for. */
  #opened(given: unknown, name: string, shape: Shape, path: Path): unknown {
    if (isPlainObject(given)) return given
    if (given === 'off') this.overridden.set(pathText(path), name)
    if (given === 'off' || (given ?? null) === null) return {}
    const short = shape['x-marks']?.short
    if (typeof given === 'string' && short !== undefined) return { [short]: given }
    // `all` stands for `{ all: true }`.
    const isFlag = typeof given === 'string' && property(objectForm(shape) ?? {}, given)?.const === true
    if (isFlag) return { [given]: true }
    const remedy = `write it as an object, or remove ${name}`
    this.report(path, { problem: `is not an object, so ${name} has no effect`, remedy })
    return given
  }

  /** Reports unknown keys and leaves them out; null means not set. */
  #readObject(object: Record<string, unknown>, form: Shape, path: Path): Record<string, unknown> {
    const { properties = {}, additionalProperties: free } = form
    const set = new Map<string, string>()
    for (const [key, field] of Object.entries(properties)) {
      const at = pathText([...path, key])
      this.#shapes.set(at, field)
      const name = this.#names.get(at) ?? this.#setInside(at)
      if (name !== undefined) set.set(key, name)
    }
    const pairs = secretPairs(form)
    const rivals = [...(form['x-marks']?.exclusive ?? []), ...pairs]
    const replaced = rivals.flatMap((group) => this.#replacedOf(group, object, set, path))
    const given = new Map<string, unknown>()
    for (const key of new Set([...Object.keys(object), ...set.keys()])) {
      // `__proto__` is refused: assigning that key would lose the value silently.
      const ofMap = typeof free === 'object' && key !== '__proto__' ? free : undefined
      const field = property(form, key) ?? ofMap
      if (field === undefined) this.#reportUnknown(key, Object.keys(properties), path)
      else if (!replaced.includes(key)) {
        const value = this.#read(object[key], field, [...path, key])
        if ((value ?? null) !== null) given.set(key, value)
      }
    }
    for (const [key, fileKey] of pairs) {
      const file = given.get(fileKey)
      if (typeof file !== 'string' || given.has(key)) continue
      const secret = this.#secretFrom(() => readSecretFile(file, this.cwd), [...path, fileKey], true)
      if (secret !== undefined) given.set(key, secret)
    }
    return Object.fromEntries(given)
  }

  /**
   * Of settings that exclude each other, those of the file that one of the environment (`set`) replaces. Two of one layer
   * are an error.
   */
  #replacedOf(
    group: readonly string[],
    object: Record<string, unknown>,
    set: ReadonlyMap<string, string>,
    path: Path,
  ): string[] {
    const inFile = group.filter((key) => (object[key] ?? null) !== null && !set.has(key))
    const inEnvironment = group.filter((key) => set.has(key))
    const [first, ...others] = inEnvironment.length > 0 ? inEnvironment : inFile
    for (const other of others)
      this.report([...path, other], {
        problem: `cannot be used with ${first}`,
        remedy: `remove ${first} or ${other}`,
      })
    const replaced = inEnvironment.length > 0 ? inFile : []
    for (const key of replaced) this.overridden.set(pathText([...path, key]), set.get(first!)!)
    return replaced
  }

  /** The name of the environment that sets something inside of a place. */
  #setInside(at: string): string | undefined {
    return this.#names.entries().find(([place]) => place !== at && isWithin(place, at))?.[1]
  }

  #reportUnknown(key: string, allowed: string[], path: Path): void {
    const meant = nearest(key, allowed)
    const remedy = meant === undefined ? `allowed here: ${allowed.join(', ')}` : `did you mean ${meant}?`
    this.report([...path, key], { problem: 'is not a setting', remedy })
  }

  /**
   * Reads an object whose kind does not exist (a sink's `type` or `preset`) as the kind that is meant, so that what else
   * is wrong in it is reported too.
   */
  #readUnknownKind(object: Record<string, unknown>, shape: Shape, path: Path): unknown {
    const all = forms(shape).filter(({ properties }) => properties !== undefined)
    let fitting = all
    for (const kind of new Set(all.flatMap(kindsOf))) {
      const own = fitting.flatMap((form) => property(form, kind) ?? [])
      if (own.length === 0) continue
      const names = [...new Set(own.map((field) => String(field.const)))]
      const given = object[kind] ?? own.find((field) => field.default !== undefined)?.default
      const meant = typeof given === 'string' ? nearest(given, names) : undefined
      if (meant === undefined || meant !== given)
        this.report([...path, kind], refusedChoice(given, names, [...path, kind]))
      if (meant === undefined) this.#guessed.push(pathText(path))
      else fitting = fitting.filter((form) => property(form, kind)?.const === meant)
    }
    if (fitting.length === 0) return object
    const shared = (form: Shape) =>
      Object.keys(object).filter((key) => property(form, key) !== undefined).length
    const form = fitting.reduce((best, other) => (shared(other) > shared(best) ? other : best))
    const isOfAnother = (key: string) =>
      property(form, key) === undefined && all.some((other) => property(other, key) !== undefined)
    const own = Object.entries(object).filter(([key]) => !isOfAnother(key))
    const kinds = kindsOf(form).map((kind) => [kind, property(form, kind)?.const] as const)
    return this.#readObject(Object.fromEntries([...own, ...kinds]), form, path)
  }

  #readText(written: string, shape: Shape, path: Path): unknown {
    const scalar = scalarForm(shape)
    const kind = scalar?.['x-marks']?.kind
    const { source, where = 'configuration' } = this.originOf(path)
    const at = pathText(path)
    const isExpanded = isTemplate(written) && (source === 'file' || this.#documents.has(where))
    const isUrl = kind === 'url'
    const isSecret = kind === 'secret' || (isUrl && (URL.parse(written)?.password ?? '') !== '')
    if (source === 'file' && !isExpanded && isSecret) this.plainSecrets.push(at)
    if (kind === 'secret')
      return isExpanded
        ? this.#secretFrom(() => expand(written, this), path, written.includes('${file:'))
        : new Secret(written, undefined, at)
    let text: string | undefined = written
    if (isExpanded) {
      const scheme = isUrl ? `${path[0] === 'state' ? 'redis' : 'https'}://` : ''
      const isAddress = isUrl || kind === 'address' || path.includes('tls')
      const read = () => expand(written, this)
      text = this.#tried(path, read, () => (isAddress ? `${scheme}${unresolvedHost}` : undefined))
      this.templates.set(at, written)
      if (isUrl && text !== undefined && written.includes('${file:'))
        this.secretUrls.set(
          at,
          new Secret(text, () => (path[0] === 'state' ? read() : webAddress(read())), at),
        )
    }
    if (text === undefined) return undefined
    if (kind === 'path' && text !== '') return resolve(this.cwd, text)
    if (!isExpanded || (scalar?.type === 'string' && isScalar(shape))) return text
    const { value, errors } = coerce(text, shape, where)
    for (const { problem, remedy } of errors) this.report(path, { problem, remedy })
    return errors.length > 0 ? undefined : value
  }

  /** A secret that can be read again from its source. An empty text is refused, now and at each re-read. */
  #secretFrom(source: () => string, path: Path, isOfFile: boolean): Secret | undefined {
    const read = () => {
      const value = source()
      if (value === '') throw new ExpandError('is empty', 'set the secret there', isOfFile)
      return value
    }
    return this.#tried(
      path,
      () => new Secret(read(), read, pathText(path)),
      ({ message, remedy }) => Secret.unresolved(`${pathText(path)} ${message}; ${remedy}`),
    )
  }

  /** Undefined after a report. A value that cannot be read and that the command does not use is what `stand` gives. */
  #tried<Value>(
    path: Path,
    read: () => Value,
    stand: (error: ExpandError) => Value | undefined,
  ): Value | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ExpandError)) throw error
      const value = usesSecretsOf(String(path[0]), this.needs) ? undefined : stand(error)
      if (value !== undefined) this.unresolved.set(pathText(path), error.message)
      else this.report(path, { problem: error.message, remedy: error.remedy, isAbsent: error.isAbsent })
      return value
    }
  }
}

/** Throws for a text that no request can be sent to. */
function webAddress(text: string): string {
  if (/^https?:$/.test(new URL(text).protocol)) return text
  throw new ExpandError('is no address of a web server', 'write one that begins with https://')
}

/** Each secret with the setting of its file. */
function secretPairs({ properties = {} }: Shape): [secret: string, file: string][] {
  return Object.entries(properties).flatMap(([key, field]) =>
    field['x-marks']?.kind === 'secret' && Object.hasOwn(properties, `${key}File`)
      ? [[key, `${key}File`]]
      : [],
  )
}

/** The settings that select the form of an object among several. */
function kindsOf({ properties = {} }: Shape): string[] {
  return Object.entries(properties).flatMap(([key, field]) => (typeof field.const === 'string' ? [key] : []))
}

/** Without certificates that the command does not use: the schema would read them, and their keys. */
function withoutTls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTls)
  if (!isPlainObject(value)) return value
  const kept = Object.entries(value).filter(([key, inner]) => key !== 'tls' || !isPlainObject(inner))
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutTls(inner)]))
}
