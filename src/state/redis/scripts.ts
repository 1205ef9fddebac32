import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const names = [
  'add-backfill',
  'add-gaps',
  'announce-commit',
  'ask-holder',
  'commit-page',
  'count-letters',
  'drop-stream',
  'enrol-stream',
  'forget-seen',
  'hear-holder',
  'list-announced',
  'open-store',
  'release-stream',
  'remember-pairs',
  'remove-letters',
  'rename-sink',
  'rename-stream',
  'set-backfill',
  'settle-backfilled',
  'take-stream',
  'unlist-streams',
] as const

export type ScriptName = (typeof names)[number]

export interface Script {
  readonly text: string
  readonly sha: string
}

function read(name: ScriptName): Script {
  const text = readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8')
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/** Each script stands beside this file, headed with what goes in and what comes out. */
export const scripts = Object.fromEntries(names.map((name) => [name, read(name)])) as Record<
  ScriptName,
  Script
>
