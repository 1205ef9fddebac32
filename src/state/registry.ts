import { redisKind } from './redis/kind.ts'
import { sqliteKind } from './sqlite/kind.ts'
import type { StateKind } from './state-kind.ts'

/** Every kind of store, by the `kind` of its settings. */
const kinds = { sqlite: sqliteKind, redis: redisKind }

type Settings = { readonly [Kind in keyof typeof kinds]: Parameters<(typeof kinds)[Kind]>[0] }
const byKind: { readonly [Kind in keyof Settings]: (settings: Settings[Kind]) => StateKind } = kinds

export function stateKind<Kind extends keyof Settings>(
  settings: { readonly kind: Kind } & Settings[Kind],
): StateKind {
  return byKind[settings.kind](settings)
}
