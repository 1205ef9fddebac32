import type { Checkpoint } from '../../domain/checkpoint.ts'
import { Failure } from '../../domain/failure.ts'
import { onlyStream, streamKey, type Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Ledger } from '../../ports/store.ts'
import type { Records } from '../../ports/records.ts'
import { headOf, newHead, whenHead, type OwnStreams } from './own-streams.ts'
import { keyOf, refuseRenaming, rootKeys, type Root } from './root.ts'
import { again, untilDecided } from './until-decided.ts'
import { jsonOf, textOf, type Condition } from './values.ts'

/** A holder whose latest heartbeat is more recent than this keeps its streams. */
const heardWithinUs = 20_000_000

/** What all parts of the ledger work on. */
export interface LedgerDeps {
  readonly records: Records
  readonly clock: Clock
  readonly root: Root
  readonly own: OwnStreams
}

/** Who may write a stream: its head names the fence given last, and the process that has it. */
export function createHolders(
  deps: LedgerDeps,
): Pick<Ledger, 'take' | 'heartbeat' | 'holds' | 'release' | 'read'> {
  const { records, clock, root, own } = deps
  return {
    take: (stream, holder) =>
      untilDecided(clock, async () => {
        const { names } = root
        const key = keyOf(stream, names)
        const asked = { store: rootKeys, heads: [key], checkpoints: [key] }
        const { nowUs, found } = await records.read(asked)
        root.learn(found.store)
        if (root.names !== names) return again
        const { store, whenStore } = root
        if (store === undefined) {
          await root.open(true)
          return again
        }
        refuseRenaming(names, stream.sink, nowUs)
        const before = found.heads[0] && headOf(found.heads[0])
        const when = [whenStore, names.condition, whenHead(key, before)]
        const isOfOwnLock = holder.schedule && before?.schedule === true
        if (before !== undefined && before.holder !== holder.id && !isOfOwnLock) {
          const { leftUs, conditions } = await lives(records, [before.holder])
          if (leftUs > 0) throw held(stream, clock.now() + Math.ceil(leftUs / 1_000))
          when.push(...conditions)
        }
        // By time, so that a store that was emptied, or restored from an older state, gives no fence twice.
        const fence = Math.max(nowUs, store.floor + 1, (before?.fence ?? 0) + 1)
        const head = { ...newHead, ...before, fence, holder: holder.id, schedule: holder.schedule }
        const { outcome } = await records.write({
          when,
          put: [['heads', key, JSON.stringify(head)]],
          // An audit that was noted while its stream was pruned.
          remove: before === undefined ? [['audits', key]] : [],
          stamp: [['holders', holder.id]],
          // A power cut ends every pump of a host, so that nobody has a fence that is given again.
          loosely: true,
        })
        if (outcome !== 'done') return again
        const checkpoint = found.checkpoints[0] && checkpointOf(stream, found.checkpoints[0])
        own.set(stream, { key, names, head, answered: checkpoint?.lastRequest?.id, lengths: new Map() })
        return { fence, checkpoint, storeId: store.id }
      }),
    async heartbeat({ id }) {
      await records.write({ when: [], stamp: [['holders', id]], loosely: true })
    },
    holds: (stream, fence) =>
      root.under(stream, async (key) => {
        const [value] = (await records.read({ heads: [key] })).found.heads
        return value !== undefined && headOf(value).fence === fence
      }),
    async release(stream, fence) {
      const known = own.get(stream, root.names)
      own.forget(stream)
      let isFirst = true
      await untilDecided(clock, async () => {
        const cached = isFirst && known?.head.fence === fence ? known : undefined
        isFirst = false
        if (cached === undefined) await root.refresh()
        const key = cached?.key ?? keyOf(stream, root.names)
        const [value] = cached === undefined ? (await records.read({ heads: [key] })).found.heads : []
        const head = cached?.head ?? (value && headOf(value))
        if (head?.fence !== fence) return undefined
        const put = [['heads', key, JSON.stringify({ ...head, holder: '' })]] as const
        const { outcome } = await records.write({ when: [whenHead(key, head)], put, loosely: true })
        return outcome === 'done' ? undefined : again
      })
    },
    read: (stream) =>
      root.under(stream, async (key) => {
        const [value] = (await records.read({ checkpoints: [key] })).found.checkpoints
        return value && checkpointOf(stream, value)
      }),
  }
}

/** The record omits the stream: its sink may be renamed. */
export function checkpointOf(stream: Stream, value: Uint8Array): Checkpoint {
  return { stream: onlyStream(stream), ...jsonOf<Omit<Checkpoint, 'stream'>>(value) }
}

export function checkpointText(checkpoint: Checkpoint): string {
  const { stream: _, ...body } = checkpoint
  return JSON.stringify(body)
}

export interface Life {
  /** How long the one that was heard last keeps its streams; 0 for dead ones. */
  readonly leftUs: number
  /** Under which all of this stays true: a write that relies on the death of holders names them. */
  readonly conditions: readonly Condition[]
}

/** Whether any of these holders is live. Empty ones are ignored. */
export async function lives(records: Records, holders: readonly string[]): Promise<Life> {
  const keys = [...new Set(holders)].filter((holder) => holder !== '')
  if (keys.length === 0) return { leftUs: 0, conditions: [] }
  const { nowUs, found } = await records.read({ holders: keys })
  let leftUs = 0
  const conditions = keys.map((key, index) => ({ collection: 'holders', key, is: found.holders[index] }))
  for (const condition of conditions) {
    if (condition.is === undefined) continue
    const heardUs = Number(textOf(condition.is))
    // The clock was set back: a dead holder must not keep its streams until the old time is reached again.
    if (heardUs > nowUs)
      await records.write({ when: [condition], stamp: [['holders', condition.key]], loosely: true })
    leftUs = Math.max(leftUs, Math.min(heardUs, nowUs) + heardWithinUs - nowUs)
  }
  return { leftUs, conditions }
}

/** `until`: by the clock of this host. */
export function held(stream: Stream, until: number): Failure {
  const text = `the stream ${streamKey(stream)} is held by another live process`
  return new Failure('wait', 'held', text, { retryAt: until })
}
