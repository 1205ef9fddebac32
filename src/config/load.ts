import { checkSinks, type Needs, usesSecretsOf, defaultSink, resolveConfig } from './resolve.ts'
import { effective, leavesOf } from './effective.ts'
import { prepare, type Preparation, withoutUnusedTls, withStandIns } from './prepare.ts'
import { ConfigErrors, type ConfigError, type Report, type Path, pathText, valueAt } from './errors.ts'
import { complaint, flatten } from './issues.ts'
import {
  type Environment,
  type Origin,
  environmentLayer,
  flagLayer,
  overlay,
  unknownNames,
  type Overridden,
} from './layers.ts'
import { type Config, ConfigFile } from './schema.ts'
import { type Setting, settingsOf, isPlainObject } from './shape.ts'
import { fileShape as shape } from './file-shape.ts'
import { defaultStateUrl } from './state.ts'
import {
  plainHttpWarnings,
  readableSecretsWarnings,
  unknownWordWarnings,
  unknownZoneWarnings,
} from './warnings.ts'
import { type SourceFile, parseSource, readSourceFile, placesIn } from './source.ts'

export interface LoadOptions {
  readonly argv?: {
    /** The file that -c names. */
    readonly config?: string | undefined
    /** Flags by path, as text: `{ 'server.port': '0' }`. */
    readonly overrides?: Readonly<Record<string, string>>
  }
  /** The content of a file that is not written yet; no file is read then. */
  readonly draft?: string
  readonly env?: Environment
  readonly cwd?: string
  /** What the command requires; default: zones and their keys. */
  readonly needs?: Needs
}

export interface Loaded {
  readonly config: Config
  /** The origin of each scalar and each list of scalars, by path. */
  readonly origins: ReadonlyMap<string, Origin>
  /** The settings in force in the form of the file, secrets masked. */
  readonly effective: unknown
  /** Why a value that the command does not use could not be read, by path. */
  readonly unresolved: ReadonlyMap<string, string>
  readonly warnings: readonly string[]
  /** Warnings of the file itself, for `check`: in a container a file that all may read is usual. */
  readonly exposed: readonly string[]
  /** Settings of the file that the environment replaces. */
  readonly overridden: readonly Overridden[]
  /** Absolute; absent where there is no file. */
  readonly file?: string
}

const settings = settingsOf(shape)

/**
 * Flags override the environment, the environment the file, the file the defaults. Throws ConfigErrors: first with all
 * errors of single settings and all sinks with the same name or folder, and once there are none with the other
 * conflicts between settings.
 */
export function loadConfig(options: LoadOptions = {}): Loaded {
  const { file, laid, errors, searched, preparation, asked } = readLayers(options, settings)
  const { originOf, report, templates, plainSecrets, unresolved, sources } = preparation
  const written = prepare(laid.value, shape, [], preparation)
  const parsed = parseSettings(withoutUnusedTls(written, preparation), templates, report)
  if (parsed === undefined || errors.length > 0) {
    checkBesideErrors(laid.value, written, preparation)
    throw new ConfigErrors(errors, searched)
  }
  const server = isPlainObject(written) ? written['server'] : undefined
  const serverConfigured = isPlainObject(server) && Object.keys(server).length > 0
  const config = resolveConfig(parsed, {
    cwd: sources.cwd,
    needs: options.needs ?? 'zones',
    serverConfigured,
    report,
  })
  if (config === undefined || errors.length > 0) throw new ConfigErrors(errors, searched)

  const { value, defaults } = effective(written, shape, {
    templates,
    unresolved,
    derived: derivedFrom(config),
  })
  const origins = leavesOf(value).map((path): [string, Origin] => {
    const text = pathText(path)
    return [text, defaults.has(text) ? { source: 'default' } : withoutMarks(originOf(path))]
  })
  return {
    config,
    origins: new Map(origins),
    effective: value,
    unresolved,
    overridden: laid.overridden,
    warnings: [
      ...unknownNames(sources.env, settings, asked),
      ...plainHttpWarnings(config),
      ...unknownWordWarnings(config),
      ...(hasAllZones(config) ? unknownZoneWarnings(config) : []),
    ],
    exposed: file === undefined ? [] : readableSecretsWarnings(file, [...plainSecrets]),
    ...(file?.path === undefined ? {} : { file: file.path }),
  }
}

/** The file with what overrides it, and what its errors are told with. */
function readLayers(
  { argv = {}, draft, env = process.env, cwd = process.cwd(), needs = 'zones' }: LoadOptions,
  known: readonly Setting[],
) {
  const named = argv.config ?? (env['SHIELDLOG_CONFIG'] === '' ? undefined : env['SHIELDLOG_CONFIG'])
  const file = draft === undefined ? readSourceFile(named, cwd) : parseSource(draft, 'draft')
  const layers = [environmentLayer(env, known), flagLayer(argv.overrides ?? {}, known)]
  const laid = overlay(file?.value ?? {}, shape, layers)
  const originOf = (path: Path) => originAt(path, laid.origins, file)
  const searched = file === undefined ? placesIn(cwd) : []
  const errors: ConfigError[] = laid.errors.map(({ path, error }) => ({ path: pathText(path), ...error }))
  const report: Report = (path, complained) => {
    const at = pathText(path)
    // Reports one error per place, and none that follows from it.
    if (errors.some((error) => isWithin(at, error.path))) return
    const { where } = originOf(path)
    errors.push({ path: at, ...complained, ...(where === undefined ? {} : { where }) })
  }

  const asked = new Set<string>()
  const preparation: Preparation = {
    sources: { env, cwd, asked: (name: string) => void asked.add(name) },
    originOf,
    report,
    usesSecretsOf: (section: string) => usesSecretsOf(section, needs),
    templates: new Map(),
    plainSecrets: new Set(),
    unresolved: new Map(),
  }
  return { file, laid, errors, searched, preparation, asked }
}

/** False where the API lists the zones of an account, and for a command that needs none. */
function hasAllZones({ accounts }: Config): boolean {
  return (
    accounts.some(({ zones }) => zones.length > 0) &&
    accounts.every(({ discovery }) => discovery === undefined)
  )
}

/** Reports what else is wrong with sinks, where a setting is refused: in a sink of an unknown kind, and among sinks. */
function checkBesideErrors(laid: unknown, written: unknown, on: Preparation): void {
  const standing = withStandIns(laid, shape)
  if (standing !== undefined)
    parseSettings(
      withoutUnusedTls(prepare(standing.value, shape, [], on), on),
      on.templates,
      on.report,
      standing.guessed,
    )
  const sinks = valueAt(written, ['sinks'])
  if (!Array.isArray(sinks)) return
  const known = sinks.map((sink: unknown) => (isPlainObject(sink) ? { name: sink['type'], ...sink } : {}))
  checkSinks(known, on.report)
}

/** Parses the settings by the schema; undefined after a report. Of `partly` known objects, it reports nothing missing. */
function parseSettings(
  written: unknown,
  templates: ReadonlyMap<string, string>,
  report: Report,
  partly: ReadonlySet<string> = new Set(),
): ConfigFile | undefined {
  if (!isPlainObject(written))
    return report([], {
      problem: 'is not a map of settings',
      remedy: 'begin with a setting such as "zones: [101]"',
    })
  const parsed = ConfigFile.safeParse(written)
  if (parsed.success) return parsed.data
  for (const { issue, path } of flatten(parsed.error.issues, [])) {
    const isMissing = valueAt(written, path) === undefined
    if (isMissing && [...partly].some((place) => isWithin(pathText(path), place))) continue
    const template = templates.get(pathText(path))
    report(path, complaint({ issue, path, template }, shape, written))
  }
  return undefined
}

/** True when a place equals the other or is inside it. */
function isWithin(place: string, outer: string): boolean {
  return place === outer || (place.startsWith(outer) && /^[.[]/.test(place.slice(outer.length)))
}

/** Defaults that depend on other settings. */
function derivedFrom({ poll, state }: Config): Map<string, unknown> {
  return new Map<string, unknown>([
    ['poll.firstRunDays', poll.firstRunDays],
    ['poll.settleAfterHours', poll.settleAfterHours],
    ['sinks', [defaultSink]],
    ...(state.kind === 'sqlite' ? [['state.url', defaultStateUrl] as const] : []),
  ])
}

type MarkedOrigin = Origin & { readonly literal: boolean }

/** The origin of the innermost enclosing value that has one. */
function originAt(
  path: Path,
  laid: ReadonlyMap<string, MarkedOrigin>,
  file: SourceFile | undefined,
): MarkedOrigin {
  const around = path.map((_, index) => pathText(path.slice(0, path.length - index)))
  const above = around.map((text) => laid.get(text)).find((origin) => origin !== undefined)
  if (above !== undefined) return above
  if (file === undefined) return { source: 'default', literal: false }
  const line = around.map((text) => file.lines.get(text)).find((found) => found !== undefined)
  return { source: 'file', where: line === undefined ? file.label : `${file.label}:${line}`, literal: false }
}

function withoutMarks({ source, where }: MarkedOrigin): Origin {
  return where === undefined ? { source } : { source, where }
}

export interface ServerAddress {
  readonly host: string
  readonly port: number
}

const ofServer = ['host', 'port'].map((key) => ['server', key])
const serverSettings = settings.filter(({ path }) => ofServer.some((at) => pathText(at) === pathText(path)))

/**
 * Where the configured server listens. Reads nothing else, so that a probe needs no secret and does not fail because of
 * another setting. Throws ConfigErrors.
 */
export function loadServerAddress(
  config: string | undefined,
  env: Environment = process.env,
  cwd = process.cwd(),
): ServerAddress {
  const options: LoadOptions = { argv: { config }, env, cwd, needs: 'nothing' }
  const { laid, errors, searched, preparation } = readLayers(options, serverSettings)
  const given = ofServer.map((at) => [at[1]!, valueAt(laid.value, at) ?? null] as const)
  const written = prepare({ server: Object.fromEntries(given) }, shape, [], preparation)
  const parsed = parseSettings(written, preparation.templates, preparation.report)
  if (parsed === undefined || errors.length > 0) throw new ConfigErrors(errors, searched)
  return parsed.server
}
