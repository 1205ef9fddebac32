import { readFileSync } from 'node:fs'

const names = [
  'acknowledge-gaps',
  'add-backfill',
  'changed-streams',
  'commit-page',
  'drop-holders',
  'drop-streams',
  'forget-seen',
  'hear-holder',
  'note-audit',
  'open-store',
  'release-stream',
  'remember-routes',
  'remove-dead-letters',
  'rename-sink',
  'set-backfill',
  'take-stream',
] as const

export type ScriptName = (typeof names)[number]

const read = (name: string): string => readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')
const functions = read('functions')

/** Name and text of each script. The header of each file beside this one states its input and output. */
export const scripts: readonly (readonly [ScriptName, string])[] = names.map((name) => [
  name,
  functions + read(name),
])
