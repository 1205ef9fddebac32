import { streamKey, type Stream } from '../../domain/stream.ts'
import type { Names } from './root.ts'
import { jsonOf, type Condition } from './values.ts'

/** What decides about a stream: each write of its records depends on it. */
export interface Head {
  readonly fence: number
  /** Empty while nobody has the stream. */
  readonly holder: string
  /** Whether that is the process with the schedule lock. */
  readonly schedule: boolean
  readonly commit: number
  /** Of the content of that commit. */
  readonly hash: string
  /** Whether fingerprints were dropped. */
  readonly isDropped: boolean
  /** How often fingerprints were removed: dropped, or unseen by a commit. */
  readonly removals: number
}

export const newHead: Head = {
  fence: 0,
  holder: '',
  schedule: false,
  commit: 0,
  hash: '',
  isDropped: false,
  removals: 0,
}

export function headOf(value: Uint8Array): Head {
  return jsonOf<Head>(value)
}

export function whenHead(key: string, head: Head | undefined): Condition {
  return { collection: 'heads', key, is: head && JSON.stringify(head) }
}

/** What this process knows of a stream that it holds. All of it is true only as long as the store has this very head. */
export interface OwnStream {
  readonly key: string
  /** By which the key was made. */
  readonly names: Names
  readonly head: Head
  /** Id of the read request that the latest commit answers. */
  readonly answered: string | undefined
  /** Bytes of the records of seen, by key; of a minute's run together. */
  readonly lengths: Map<string, number>
}

/** More are not remembered: what is not known is read. */
const maxStreams = 256
export const maxLengths = 1_800

export interface OwnStreams {
  /** Undefined where it is not known, or the names have changed since. */
  get(stream: Stream, names: Names): OwnStream | undefined
  set(stream: Stream, own: OwnStream): void
  forget(stream: Stream): void
}

export function createOwnStreams(): OwnStreams {
  const known = new Map<string, OwnStream>()
  return {
    get(stream, names) {
      const own = known.get(streamKey(stream))
      return own?.names === names ? own : undefined
    },
    set(stream, own) {
      known.delete(streamKey(stream))
      known.set(streamKey(stream), own)
      if (known.size > maxStreams) known.delete(known.keys().next().value!)
    },
    forget: (stream) => void known.delete(streamKey(stream)),
  }
}
