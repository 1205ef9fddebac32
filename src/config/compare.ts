import { Secret } from '../domain/text/secret.ts'
import type { Config } from './schema.ts'

/** The configuration after a reload, the sections that the new one changes, and those of them that need a restart. */
export function reloaded(old: Config, next: Config) {
  // A running process cannot change them.
  const { state, server } = old
  const config = { ...next, state, server }
  return { config, changed: changedIn(next, old), needsRestart: changedIn(next, config) }
}

function changedIn(next: Config, old: Config): string[] {
  const [before, after] = [sectionsOf(old), sectionsOf(next)]
  return [...after.keys()].filter((section) => before.get(section) !== after.get(section))
}

/** The text of each section, with secrets in plain text: for comparison only, never shown. */
function sectionsOf({ accounts, zones, ...rest }: Config): Map<string, string> {
  const sections = {
    ...rest,
    accounts: accounts.map(({ name, accessKey }) => ({ name, accessKey })),
    zones: [zones, accounts.map(({ discovery }) => discovery)],
  }
  return new Map(Object.entries(sections).map(([name, section]) => [name, JSON.stringify(section, revealed)]))
}

function revealed(this: Readonly<Record<string, unknown>>, key: string, shown: unknown): unknown {
  const value = this[key]
  return value instanceof Secret ? value.reveal() : shown
}
