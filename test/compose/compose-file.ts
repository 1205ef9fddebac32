import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { projectFolder } from '../setup/project-folder.ts'

export interface Service {
  readonly image: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly secrets?: readonly Granted[]
  readonly configs?: readonly Granted[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly aliases?: readonly string[] }>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly profiles?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly stop_grace_period?: string
}

type Granted = string | { readonly source: string; readonly target: string }

export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly configs: Readonly<Record<string, { readonly file: string }>>
}

export const composePath = `${projectFolder}docker-compose.yml`

/** As Compose reads it: aliases and merges resolved. Before its shape was checked it may be anything. */
export function readComposeFile(): ComposeFile {
  return parse(readFileSync(composePath, 'utf8'), { merge: true }) as ComposeFile
}

/** Where a secret or config lies in the container. */
export function placesOf(granted: readonly Granted[] = []): { source: string; target: string }[] {
  return granted.map((each) =>
    typeof each === 'string' ? { source: each, target: `/run/secrets/${each}` } : each,
  )
}

/** The networks of a service, each with the names that it answers to there besides its own. */
export function networksOf({ networks = ['default'] }: Service): Map<string, readonly string[]> {
  return isList(networks)
    ? new Map(networks.map((each) => [each, []]))
    : new Map(Object.entries(networks).map(([each, { aliases }]) => [each, aliases ?? []]))
}

function isList(networks: NonNullable<Service['networks']>): networks is readonly string[] {
  return Array.isArray(networks)
}

/** Text of a command as the container gets it: Compose takes `$$` for a literal `$`. */
export function unescaped(text: string): string {
  return text.replaceAll('$$', () => '$')
}
