import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisClient } from './connection.ts'

export type Script = (keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>

/** A Lua script beside the caller's file, run by its hash and sent whole only where the server does not know it. */
export function loadScript(client: RedisClient, location: URL): Script {
  const source = readFileSync(location, 'utf8')
  const hash = createHash('sha1').update(source).digest('hex')
  return async (keys, args) => {
    try {
      return await client.evalsha(hash, keys.length, ...keys, ...args)
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return await client.eval(source, keys.length, ...keys, ...args)
    }
  }
}
