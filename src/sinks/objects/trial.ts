import { randomUUID } from 'node:crypto'
import { Failure, isFailure, messageOf } from '../../domain/failure.ts'
import type { SinkCheck } from '../../ports/delivery.ts'
import type { ObjectSettings } from './settings.ts'
import type { ObjectStore } from './store.ts'

const atOnce = 8

/**
 * Tries a store with small objects below `<prefix>_shieldlog/try/`, as the sink will use it: that it creates an object
 * only where the key is free, one of eight at once too, and gives the metadata back. Removes what it wrote where it may.
 * Throws Failure: `sink_refuses` (stop) where the store cannot give the guarantee, with `otherwise` as the remedy, and
 * what requests throw.
 */
export async function tryStore(
  store: ObjectStore,
  { name, prefix, guarantee }: Pick<ObjectSettings, 'name' | 'prefix' | 'guarantee'>,
  otherwise: string,
  signal: AbortSignal,
): Promise<SinkCheck> {
  const isOnce = guarantee !== 'at-least-once'
  const keyOf = (use: string) => `${prefix}_shieldlog/try/${randomUUID()}-${use}.txt`
  const [first, raced] = [keyOf('once'), keyOf('race')]
  const what = `sink ${name} (${store.address})`
  const written = new Set<string>()

  async function put(key: string, attempt: number) {
    const text = `Written by a check of shieldlog; may be removed. ${attempt}\n`
    const kind = { contentType: 'text/plain', metadata: { shieldlogtry: String(attempt) } }
    const created = await store.create(key, Buffer.from(text), kind, signal)
    if (created !== 'exists') written.add(key)
    return created
  }

  const attemptIn = async (key: string) => (await store.head(key, signal))?.metadata['shieldlogtry']
  const failed = (problem: string) => new Failure('retry', 'server_error', `${what} ${problem}`)
  const refused = (problem: string, remedy = otherwise) =>
    new Failure('stop', 'sink_refuses', `${what} ${problem}: ${remedy}`)

  async function tryConditions(): Promise<void> {
    if ((await put(first, 2)) === 'created' || (await attemptIn(first)) !== '1')
      throw refused('replaces objects although it is asked to create them only (If-None-Match)')
    const tries = await Promise.all(Array.from({ length: atOnce }, (_, attempt) => put(raced, attempt)))
    const winners = tries.filter((each) => each === 'created').length
    if (winners > 1) throw refused(`let ${winners} of ${atOnce} create one object at the same time`)
    if ((await attemptIn(raced)) === undefined) throw failed(`let none of ${atOnce} create an object`)
  }

  let left: string | undefined
  try {
    // Needs the rights that looking at a free key needs; unlike that to a HEAD, its answer says what is wrong.
    await store.get(first, signal)
    const isCreated = (await put(first, 1)) === 'created' || (await attemptIn(first)) !== undefined
    if (!isCreated) throw failed('did not create an object')
    if ((await attemptIn(first)) !== '1')
      throw refused('does not give the metadata of an object back', 'use another service')
    if (isOnce) await tryConditions()
  } catch (error) {
    if (isFailure(error, 'sink_refuses') && /answered 501\b/.test(error.message))
      throw refused('does not implement conditional writes (If-None-Match)')
    throw error
  } finally {
    // The error of the trial counts, not that of a removal.
    left = await remove(store, written, signal)
  }
  return {
    found: isOnce
      ? `created objects only where the key was free, and one of ${atOnce} at once`
      : 'created an object; at-least-once, so events may be there twice',
    ...(left !== undefined && { note: left }),
  }
}

/** What stays and why, for people; undefined where all is removed. */
async function remove(
  store: ObjectStore,
  keys: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  let why: string | undefined
  for (const key of keys) await store.remove(key, signal).catch((error: unknown) => (why = messageOf(error)))
  if (why === undefined) return undefined
  return `what the check wrote stays there, and is not needed: ${[...keys].join(', ')} (${why})`
}
