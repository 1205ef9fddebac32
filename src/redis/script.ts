import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Failure } from '../domain/failure.ts'
import { within } from '../domain/promises.ts'
import type { Clock } from '../ports/process.ts'
import type { RedisClient } from './connection.ts'

export type ScriptArgument = string | number | Buffer
export type Script = (keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>

type Command = (count: number, rest: readonly ScriptArgument[]) => Promise<unknown>

/** Loads a Lua script by its URL as a function. */
export function loadScript(client: RedisClient, location: URL): Script {
  const name = basename(location.pathname, '.lua')
  defineScript(client, name, readFileSync(location, 'utf8'))
  return (keys, args) => callScript(client, name, { keys, args })
}

/** Makes the script a command of the client, which sends its text once per connection and then its hash. */
export function defineScript(client: RedisClient, name: string, lua: string): void {
  if (!(name in client)) client.defineCommand(name, { lua })
}

interface ScriptCall {
  readonly keys: readonly string[]
  readonly args: readonly ScriptArgument[]
  /** `bytes`: texts of the answer come as buffers. */
  readonly as?: 'text' | 'bytes'
}

export function callScript(
  client: RedisClient,
  name: string,
  { keys, args, as = 'text' }: ScriptCall,
): Promise<unknown> {
  const commands = client as unknown as Readonly<Record<string, Command>>
  const command = commands[as === 'bytes' ? `${name}Buffer` : name]
  if (command === undefined) throw new TypeError(`the script ${name} was not defined`)
  // As one list, which the client flattens: one call cannot take some hundred thousand arguments.
  return command.call(client, keys.length, [...keys, ...args])
}

const patienceMs = 3_000

/** The answer of Redis, or Failure `store_unavailable` after 3 s: some clients keep a command while Redis is away. */
export async function promptly<T>(asked: Promise<T>, clock: Clock): Promise<T> {
  const answer = await within(patienceMs, asked, clock)
  if (answer !== 'late') return answer.value
  throw new Failure('retry', 'store_unavailable', `Redis has not answered for ${patienceMs / 1000} s`)
}
