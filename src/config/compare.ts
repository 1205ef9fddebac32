import { Secret } from '../domain/text/secret.ts'
import type { Config } from './schema.ts'
import { Tls } from './fields/tls.ts'

/** Sections that a running process cannot apply. */
const restartSections = ['state', 'server']

/** The sections that a reload would change, and those of them that need a restart. */
export function compareConfigs(old: Config, next: Config) {
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
