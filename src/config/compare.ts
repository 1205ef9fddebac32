import { Secret } from '../domain/secret.ts'
import type { Path } from './path.ts'
import type { Config } from './schema.ts'
import { Tls } from './tls.ts'

export interface Comparison {
  /** Settings that differ, by path; items of lists by name: `poll.everySeconds`, `sinks.archive.path`, `zones.102`. */
  readonly changed: readonly string[]
  /** Those of them that a running process cannot take over. */
  readonly needsRestart: readonly string[]
}

const restartSections = ['state', 'server']

/** What a reload would change. */
export function compareConfigs(old: Config, next: Config): Comparison {
  const changed = differences(comparable(old), comparable(next), [])
  const needsRestart = changed.filter((path) =>
    restartSections.some((section) => path === section || path.startsWith(`${section}.`)),
  )
  return { changed, needsRestart }
}

type Tree = ReadonlyMap<string, unknown>

/** Lists of named things by name, so that a new order is no change and an item keeps its path. */
function comparable({ accounts, sinks, server, ...rest }: Config): Tree {
  const zones = accounts.flatMap((account) => account.zones)
  const { configured: _configured, ...served } = server
  return tree({
    ...rest,
    server: served,
    accounts: new Map(accounts.map(({ name, accessKey }) => [name, { accessKey }])),
    zones: new Map(zones.map((zone) => [String(zone.id), zone])),
    sinks: new Map(sinks.map((sink) => [sink.name, sink])),
  })
}

function tree(value: object): Tree {
  if (value instanceof Map)
    return new Map(Array.from(value, ([key, inner]) => [String(key), inner as unknown]))
  // Its key is no own property.
  if (value instanceof Tls) return new Map(Object.entries({ ca: value.ca, cert: value.cert, key: value.key }))
  return new Map(Object.entries(value))
}

function differences(old: unknown, next: unknown, path: Path): string[] {
  if (!isTree(old) || !isTree(next)) return scalarOf(old) === scalarOf(next) ? [] : [path.join('.')]
  const [before, after] = [tree(old), tree(next)]
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].flatMap((key) => differences(before.get(key), after.get(key), [...path, key]))
}

function isTree(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret)
}

/** Compared only, never shown. */
function scalarOf(value: unknown): string {
  if (value instanceof Secret) return `secret ${value.reveal()}`
  return value === undefined ? '' : JSON.stringify(value)
}
