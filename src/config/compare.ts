import { Secret } from '../domain/text/secret.ts'
import type { Config } from './schema.ts'
import { Tls } from './fields/tls.ts'

export interface Comparison {
  /** Sections of the configuration that differ. */
  readonly changed: readonly string[]
  /** Those of them that a running process cannot apply. */
  readonly needsRestart: readonly string[]
}

const restartSections = ['state', 'server']

/** What a reload would change. */
export function compareConfigs(old: Config, next: Config): Comparison {
  const [before, after] = [sectionsOf(old), sectionsOf(next)]
  const changed = [...after.keys()].filter((section) => before.get(section) !== after.get(section))
  return { changed, needsRestart: changed.filter((section) => restartSections.includes(section)) }
}

/** The text of each section, with secrets in plain text: for comparison only, never shown. */
function sectionsOf({ accounts, ...rest }: Config): Map<string, string> {
  const sections = {
    ...rest,
    accounts: accounts.map(({ name, accessKey }) => ({ name, accessKey })),
    zones: accounts.map(({ zones, discovery }) => ({ zones, discovery })),
  }
  return new Map(Object.entries(sections).map(([name, section]) => [name, JSON.stringify(section, revealed)]))
}

function revealed(this: Readonly<Record<string, unknown>>, key: string, shown: unknown): unknown {
  const value = this[key]
  if (value instanceof Secret) return value.reveal()
  return value instanceof Tls ? { ca: value.ca, cert: value.cert, key: value.key } : shown
}
