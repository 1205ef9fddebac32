import { randomUUID } from 'node:crypto'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports.ts'
import { listOf, textOf } from './answer.ts'
import type { Keys } from './keys.ts'
import type { Link } from './link.ts'

/** The schema that this version reads and writes. */
export const schemaNumber = 1

export interface Identity {
  /** The id of the store as it is now: another one than before when it was emptied since. Throws `store_refuses`. */
  read(): Promise<string>
  /** The id when it was last read. */
  latest(): string
}

/** With `create`, a store is made where there is none. */
export function createIdentity(
  link: Link,
  keys: Keys,
  clock: Clock,
): Identity & { open(create: boolean): Promise<string> } {
  let latest = ''

  async function open(create: boolean): Promise<string> {
    const args = [randomUUID(), schemaNumber, Math.floor(clock.now()), create ? 1 : 0]
    const found = listOf(await link.script('open-store', [keys.meta], args))
    if (found.length === 0) {
      const remedy = 'start `run` once, or set `state` to the store that you mean'
      throw new Failure('stop', 'no_store', `there is no store in ${link.name} under ${keys.meta}: ${remedy}`)
    }
    refuseForeign(textOf(found[1]))
    latest = textOf(found[0])
    return latest
  }

  function refuseForeign(schema: string): void {
    if (schema === String(schemaNumber)) return
    const text = `the store (${link.name}) has schema ${schema === '' ? 'none' : schema}, and this version knows ${schemaNumber}`
    const remedy = 'run a newer version, or set another keyPrefix'
    throw new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
  }

  return { open, read: () => open(true), latest: () => latest }
}
