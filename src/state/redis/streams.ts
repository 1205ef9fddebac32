import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { AuditRecord } from '../../domain/audit-report.ts'
import { Failure } from '../../domain/failure.ts'
import { onlyStream, streamKey, type Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Ledger } from '../../ports/store.ts'
import { heardWithinMs, held } from '../held.ts'
import { listOf, numberOf, textOf } from './server/answer.ts'
import type { Keys } from './keys.ts'
import type { Link } from './server/link.ts'
import type { Identity } from './store-identity.ts'

export type Streams = Pick<
  Ledger,
  'take' | 'heartbeat' | 'holds' | 'release' | 'read' | 'noteAudit' | 'auditOf'
>

export interface StreamsDeps {
  readonly link: Link
  readonly keys: Keys
  readonly clock: Clock
  readonly identity: Identity
  readonly instant: Instant
}

/** The time for scripts: empty for the clock of Redis, unless a test sets another one. */
export type Instant = () => string

/** How often `take` tries again when the store is emptied meanwhile. */
const maxTries = 3

export function createStreams({ link, keys, clock, identity, instant }: StreamsDeps): Streams {
  return {
    async take(stream, holder) {
      const { head, checkpoint } = keys.of(stream)
      const all = [keys.meta, keys.streams, keys.holders, head, checkpoint]
      const args = [streamKey(stream), holder.id, holder.schedule ? 1 : 0, instant(), heardWithinMs]
      for (let tries = 0; tries < maxTries; tries++) {
        const answer = listOf(await link.script('take-stream', all, args))
        const word = textOf(answer[0])
        if (word === 'held') throw held(stream, clock.now() + numberOf(answer[1]))
        if (word === 'taken') {
          const [fence, storeId, text] = answer.slice(1).map(textOf)
          identity.tell(storeId!)
          return { fence: Number(fence), storeId: storeId!, checkpoint: readCheckpoint(stream, text!) }
        }
        await identity.open(true)
      }
      throw new Failure(
        'retry',
        'store_unavailable',
        `another program keeps emptying the store (${link.name})`,
      )
    },
    async heartbeat({ id }) {
      await link.script('hear-holder', [keys.holders], [id, instant()])
    },
    async holds(stream, fence) {
      return (await link.run((client) => client.hget(keys.of(stream).head, 'fence'))) === String(fence)
    },
    async release(stream, fence) {
      await link.script('release-stream', [keys.of(stream).head], [fence])
    },
    async noteAudit(stream, record) {
      await link.script('note-audit', [keys.of(stream).head], [JSON.stringify(record)])
    },
    async auditOf(stream) {
      const text = await link.run((client) => client.hget(keys.of(stream).head, 'audit'))
      return text === null ? undefined : (JSON.parse(text) as AuditRecord)
    },
    async read(stream) {
      const text = await link.run((client) => client.get(keys.of(stream).checkpoint))
      return readCheckpoint(stream, text ?? '')
    },
  }
}

/** The text omits the stream, so that a rename of its sink need not change it. */
export function writeCheckpoint(checkpoint: Checkpoint): string {
  const { stream: _, ...body } = checkpoint
  return JSON.stringify(body)
}

/** Undefined for a stream that was taken and has no commit. */
export function readCheckpoint(stream: Stream, text: string): Checkpoint | undefined {
  if (text === '') return undefined
  return { stream: onlyStream(stream), ...(JSON.parse(text) as Omit<Checkpoint, 'stream'>) }
}
