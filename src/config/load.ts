import type { Needs } from './checks.ts'
import { effective } from './effective.ts'
import type { Environment } from './expand.ts'
import { FaultList } from './fault-list.ts'
import type { Fault } from './faults.ts'
import { complaint } from './issues.ts'
import { type Origin, environmentLayer, flagLayer, overlay, unknownNames } from './layers.ts'
import { leavesOf } from './leaves.ts'
import { type Path, pathText } from './path.ts'
import { prepare } from './prepare.ts'
import { defaultSink, resolveConfig } from './resolve.ts'
import { type Config, ConfigFile } from './schema.ts'
import { settingsOf } from './settings.ts'
import { isPlainObject, shapeOf } from './shape.ts'
import { defaultStateUrl } from './state.ts'
import { type SourceFile, readSourceFile } from './source-file.ts'

export interface LoadOptions {
  readonly argv?: {
    /** The file that -c names. */
    readonly config?: string | undefined
    /** Flags by path, as text: `{ 'server.port': '0' }`. */
    readonly overrides?: Readonly<Record<string, string>>
  }
  readonly env?: Environment
  readonly cwd?: string
  /** What the command cannot do without; zones and their keys unless told. */
  readonly needs?: Needs
}

export interface Loaded {
  readonly config: Config
  /** Where each scalar and each list of scalars came from, by path. */
  readonly origins: ReadonlyMap<string, Origin>
  /** The settings in force as a person would write them, secrets masked. */
  readonly effective: unknown
  readonly warnings: readonly string[]
  /** Absolute; absent where there is no file. */
  readonly file?: string
}

const shape = shapeOf(ConfigFile)
const settings = settingsOf(shape)

/** Flags over environment over file over defaults. Throws ConfigFaults with everything that is wrong, and nothing else. */
export function loadConfig({
  argv = {},
  env = process.env,
  cwd = process.cwd(),
  needs = 'zones',
}: LoadOptions = {}): Loaded {
  const named = argv.config ?? (env['SHIELDLOG_CONFIG'] === '' ? undefined : env['SHIELDLOG_CONFIG'])
  const file = readSourceFile(named, cwd)
  const layers = [environmentLayer(env, settings), flagLayer(argv.overrides ?? {}, settings)]
  const laid = overlay(file?.value ?? {}, shape, layers)
  const faults = new FaultList()
  for (const { path, fault } of laid.faults) faults.add(path, fault)

  const originOf = (path: Path) => originAt(path, laid.origins, file)
  const report = (path: Path, found: Omit<Fault, 'path' | 'where'>): undefined => {
    const { where } = originOf(path)
    if (faults.good(path)) faults.add(path, { ...found, ...(where === undefined ? {} : { where }) })
  }
  const asked = new Set<string>()
  const templates = new Map<string, string>()
  const written = prepare(laid.value, shape, [], {
    sources: { env, cwd, asked: (name) => void asked.add(name) },
    originOf,
    report,
    spoil: (path) => faults.spoil(path),
    templates,
  })
  if (!isPlainObject(written)) {
    report([], { problem: 'is no map of settings', remedy: 'begin with a setting such as "zones: [101]"' })
    throw faults.error()
  }

  const config = resolveConfig(written, {
    cwd,
    needs,
    serverConfigured: isPlainObject(written['server']) && Object.keys(written['server']).length > 0,
    report,
    refuse: (issue, path) =>
      report(path, complaint(issue, path, shape, written, templates.get(pathText(path)))),
    good: (path) => faults.good(path),
    whole: (path) => faults.whole(path),
  })
  if (config === undefined || faults.any) throw faults.error()
  const { value, defaults } = effective(written, shape, templates, derivedFrom(config))
  const origins = leavesOf(value).map((path): [string, Origin] => {
    const text = pathText(path)
    return [text, defaults.has(text) ? { source: 'default' } : withoutMarks(originOf(path))]
  })
  return {
    config,
    origins: new Map(origins),
    effective: value,
    warnings: unknownNames(env, settings, asked),
    ...(file === undefined ? {} : { file: file.path }),
  }
}

/** Defaults that follow from other settings. */
function derivedFrom({ poll, state }: Config): Map<string, unknown> {
  return new Map<string, unknown>([
    ['poll.firstRunDays', poll.firstRunDays],
    ['poll.sweepAfterHours', poll.sweepAfterHours],
    ['sinks', [defaultSink]],
    ...(state.kind === 'sqlite' ? [['state.url', defaultStateUrl] as const] : []),
  ])
}

type MarkedOrigin = Origin & { readonly literal: boolean }

/** The origin of the innermost thing around a place that came from somewhere. */
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
