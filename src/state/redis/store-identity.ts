import { randomUUID } from 'node:crypto'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../ports/process.ts'
import { listOf, textOf } from './server/answer.ts'
import type { Keys } from './keys.ts'
import type { Link } from './server/link.ts'

/** The schema that this version reads and writes. */
export const schemaNumber = 1

export interface Identity {
  /** With `create`, a store is made where there is none. Throws `store_refuses`, and `no_store`. */
  open(create: boolean): Promise<void>
  /** The id when it was last read: a different one once the store was emptied. */
  latest(): string
  /** Sets an id that another call has read. */
  tell(id: string): void
}

export function createIdentity(link: Link, keys: Keys, clock: Clock): Identity {
  let latest = ''
  return {
    async open(create) {
      const args = [randomUUID(), schemaNumber, Math.floor(clock.now()), create ? 1 : 0]
      const [id, schema] = listOf(await link.script('open-store', [keys.meta], args)).map(textOf)
      if (id === undefined || schema === undefined) {
        const remedy = 'start `run` once, or set `state` to the right store'
        throw new Failure(
          'stop',
          'no_store',
          `there is no store in ${link.name} under ${keys.meta}: ${remedy}`,
        )
      }
      if (schema !== String(schemaNumber)) throw foreign(link, schema)
      latest = id
    },
    latest: () => latest,
    tell: (id) => void (latest = id),
  }
}

function foreign(link: Link, schema: string): Failure {
  const found = schema === '' ? 'none' : schema
  const text = `the store (${link.name}) has schema ${found}, and this version supports only schema ${schemaNumber}`
  const remedy = 'run a newer version, or set another keyPrefix'
  return new Failure('stop', 'store_refuses', `${text}: ${remedy}`)
}
