import { readFileSync } from 'node:fs'

const names = [
  'add-backfill',
  'changed-streams',
  'commit-page',
  'drop-holders',
  'drop-streams',
  'forget-seen',
  'hear-holder',
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

/** Name and text of each script. They stand beside this file, headed with what goes in and what comes out. */
export const scripts: readonly (readonly [ScriptName, string])[] = names.map((name) => [
  name,
  functions + read(name),
])
