import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Failure } from '../domain/failure.ts'
import { within } from '../domain/promises.ts'
import type { Clock } from '../ports/process.ts'
import type { RedisClient } from './connection.ts'

export type ScriptArgument = string | number | Buffer
export type Script = (keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>

type Command = (count: number, rest: readonly ScriptArgument[]) => Promise<unknown>

/**
 * Loads a Lua script by its URL as a function: its text is sent once for each connection, and its hash from then on.
 * `bytes`: texts of the answer come as buffers.
 */
export function loadScript(client: RedisClient, location: URL, as: 'text' | 'bytes' = 'text'): Script {
  const name = basename(location.pathname, '.lua')
  if (!(name in client)) client.defineCommand(name, { lua: readFileSync(location, 'utf8') })
  const command = (client as unknown as Readonly<Record<string, Command>>)[
    as === 'bytes' ? `${name}Buffer` : name
  ]!
  // As one list, which the client flattens: one call cannot take some hundred thousand arguments.
  return (keys, args) => command.call(client, keys.length, [...keys, ...args])
}

const patienceMs = 3_000

/** The answer of Redis, or Failure `store_unavailable` after 3 s: some clients keep a command while Redis is away. */
export async function promptly<T>(asked: Promise<T>, clock: Clock): Promise<T> {
  const answer = await within(patienceMs, asked, clock)
  if (answer !== 'late') return answer.value
  throw new Failure('retry', 'store_unavailable', `Redis has not answered for ${patienceMs / 1000} s`)
}
