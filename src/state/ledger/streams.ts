import type { AuditRecord } from '../../domain/audit-report.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import { hasDay, type Day, type DayRange } from '../../domain/day.ts'
import { Failure } from '../../domain/failure.ts'
import { onlyStream, streamKey, type Stream } from '../../domain/stream.ts'
import type { Clock } from '../../ports/process.ts'
import type { Dropped, Ledger, LivingProcess, ProcessFacts, Processes } from '../../ports/store.ts'
import type { Condition, ReadRecords, RecordKey, Records } from '../../ports/records.ts'
import {
  again,
  byText,
  jsonOf,
  keyOf,
  refuseRenaming,
  routeOf,
  textOf,
  type Names,
  type Root,
} from './root.ts'

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

const untaken = { commit: 0, hash: '', isDropped: false, removals: 0 }

export async function readHead(root: Root, key: string): Promise<Head | undefined> {
  return jsonOf<Head>(await root.readOne('heads', key))
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
export const maxLengths = 1_800

/** By stream, from its take to its release. */
export type OwnStreams = Map<string, OwnStream>

/** Undefined where it is not known, or the names have changed since. */
export function ownOf(own: OwnStreams, stream: Stream, { names }: Root): OwnStream | undefined {
  const kept = own.get(streamKey(stream))
  return kept?.names === names ? kept : undefined
}

/** The stream as the store has it now. */
export async function readStream({ records }: Root, stream: Stream, key: string) {
  const { found } = await records.read({ heads: [key], checkpoints: [key] })
  return streamIn(found, stream)
}

type Found<Name extends string> = ReadRecords<Name>['found']

function streamIn({ heads, checkpoints }: Found<'heads' | 'checkpoints'>, stream: Stream) {
  const checkpoint = checkpoints[0] && checkpointOf(stream, checkpoints[0])
  return { head: jsonOf<Head>(heads[0]), checkpoint, answered: checkpoint?.lastRequest?.id }
}

/** `pruned`: of the stream's route. */
export function droppedIn({ heads, pruned }: Found<'heads' | 'pruned'>, day: Day): Dropped | undefined {
  if (hasDay(jsonOf<DayRange[]>(pruned[0]) ?? [], day)) return 'day'
  return jsonOf<Head>(heads[0])?.isDropped === true ? 'index' : undefined
}

/** A holder whose latest heartbeat is more recent than this keeps its streams. */
const heardWithinUs = 20_000_000

type OfHolders = Pick<
  Ledger,
  'take' | 'heartbeat' | 'holds' | 'isHeld' | 'release' | 'read' | 'noteAudit' | 'auditOf'
>

/** Who may write a stream: its head names the fence given last, and the process that has it. */
export function createHolders(root: Root, own: OwnStreams): OfHolders {
  const { records, clock } = root
  /** Fences that are being released, and those whose release failed. */
  const unreleased = new Map<string, { readonly stream: Stream; readonly fence: number }>()

  async function release(stream: Stream, fence: number): Promise<void> {
    const held = ownOf(own, stream, root)?.head
    own.delete(streamKey(stream))
    unreleased.set(streamKey(stream), { stream, fence })
    let head = held?.fence === fence ? held : undefined
    await root.untilDecided(async () => {
      const before = head ?? (await root.under(stream, (key) => readHead(root, key)))
      if (before?.fence !== fence) return undefined
      head = undefined
      const key = keyOf(stream, root.names)
      const put = [['heads', key, JSON.stringify({ ...before, holder: '' })]] as const
      return (await records.write({ when: [whenHead(key, before)], put, loosely: true })) ? undefined : again
    })
    // A later fence of the same stream may have failed meanwhile.
    if (unreleased.get(streamKey(stream))?.fence === fence) unreleased.delete(streamKey(stream))
  }

  return {
    take: (stream, holder) =>
      root.untilDecided(async () => {
        const { names } = root
        const key = keyOf(stream, names)
        const asked = { heads: [key], checkpoints: [key], pruned: [routeOf(key)] }
        const { nowUs, found } = await root.refreshWith(asked)
        if (root.names !== names) return again
        const { store, whenStore } = root
        if (store === undefined) {
          await root.open(true)
          return again
        }
        refuseRenaming(names, stream.sink, nowUs)
        const { head: before, checkpoint, answered } = streamIn(found, stream)
        const when = [whenStore, names.condition, whenHead(key, before)]
        const isOfOwnLock = holder.schedule && before?.schedule === true
        if (before !== undefined && before.holder !== holder.id && !isOfOwnLock) {
          const { leftUs, conditions } = await lives(records, before.holder)
          if (leftUs > 0) throw held(stream, leftUs, clock)
          when.push(...conditions)
        }
        // By time, so that a store that was emptied, or restored from an older state, gives no fence twice.
        const fence = Math.max(nowUs, store.floor + 1, (before?.fence ?? 0) + 1)
        const head = { ...(before ?? untaken), fence, holder: holder.id, schedule: holder.schedule }
        const isWritten = await records.write({
          when,
          put: [['heads', key, JSON.stringify(head)]],
          // An audit that was noted while its stream was pruned.
          remove: before === undefined ? auditsOf(key) : [],
          stamp: [['holders', holder.id]],
          // A power cut ends every pump of a host, so that nobody has a fence that is given again.
          loosely: true,
        })
        if (!isWritten) return again
        own.set(streamKey(stream), { key, names, head, answered, lengths: new Map() })
        return { fence, checkpoint, storeId: store.id, dropped: droppedIn(found, stream.day) }
      }),
    async heartbeat({ id }, facts) {
      const put = facts === undefined ? [] : [['processes', id, JSON.stringify(facts)] as const]
      await records.write({ when: [], put, stamp: [['holders', id]], loosely: true })
      // This process lives, and would otherwise keep a stream whose release failed.
      for (const { stream, fence } of unreleased.values()) await release(stream, fence)
    },
    holds: (stream, fence, commit) =>
      root.under(stream, async (key) => {
        const head = await readHead(root, key)
        return head?.fence === fence && head.commit === commit
      }),
    isHeld: (stream) =>
      root.under(stream, async (key) => {
        const head = await readHead(root, key)
        return head !== undefined && (await lives(records, head.holder)).leftUs > 0
      }),
    release,
    read: (stream) =>
      root.under(stream, async (key) => {
        const value = await root.readOne('checkpoints', key)
        return value && checkpointOf(stream, value)
      }),
    // Nothing is decided by an audit, so it depends on nothing but that the stream was once pumped.
    noteAudit: (stream, record) =>
      root.under(stream, async (key) => {
        if ((await readHead(root, key)) === undefined) return
        const value = JSON.stringify(record)
        const [latest, difference] = auditsOf(key)
        const changes = record.isEqual
          ? { remove: [difference], put: [[...latest, value]] as const }
          : {
              put: [
                [...latest, value],
                [...difference, value],
              ] as const,
            }
        await records.write({ when: [], ...changes, loosely: true })
      }),
    auditOf: (stream) =>
      root.under(stream, async (key) => {
        const { heads, audits } = (await records.read({ heads: [key], audits: [key] })).found
        return heads[0] && jsonOf<AuditRecord>(audits[0])
      }),
  }
}

/** Where the latest audit of a stream is, and once more where it found a difference: all of these are read together. */
export function auditsOf(key: string): readonly [RecordKey, RecordKey] {
  return [
    ['audits', key],
    ['differences', key],
  ]
}

/** The record omits the stream: its sink may be renamed. */
export function checkpointOf(stream: Stream, value: Uint8Array): Checkpoint {
  return { stream: onlyStream(stream), ...jsonOf<Omit<Checkpoint, 'stream'>>(value) }
}

/**
 * How long a holder keeps its streams: 0 for a dead one, and for nobody (empty). A write that relies on the death of a
 * holder names the conditions, under which this stays true.
 */
export async function lives(
  records: Records,
  holder: string,
): Promise<{ readonly leftUs: number; readonly conditions: readonly Condition[] }> {
  if (holder === '') return { leftUs: 0, conditions: [] }
  const { nowUs, found } = await records.read({ holders: [holder] })
  const condition = { collection: 'holders', key: holder, is: found.holders[0] }
  if (condition.is === undefined) return { leftUs: 0, conditions: [condition] }
  const heardUs = Number(textOf(condition.is))
  // The clock was set back: a dead holder must not keep its streams until the old time is reached again.
  if (heardUs > nowUs) await records.write({ when: [condition], stamp: [['holders', holder]], loosely: true })
  const leftUs = Math.max(0, Math.min(heardUs, nowUs) + heardWithinUs - nowUs)
  return { leftUs, conditions: [condition] }
}

export function held(stream: Stream, leftUs: number, clock: Clock): Failure {
  const text = `the stream ${streamKey(stream)} is held by another live process`
  return new Failure('wait', 'held', text, { retryAt: clock.now() + Math.ceil(leftUs / 1_000) })
}

export function createProcesses(root: Root): Processes {
  return {
    async living() {
      const all = await root.readAll('processes', (_, value) => jsonOf<ProcessFacts>(value))
      const beats = await root.readMany('holders', [...all.keys()])
      const nowUs = await root.refresh()
      const living = [...all].flatMap(([id, facts]): LivingProcess[] => {
        const heard = beats.get(id)
        const heardUs = heard === undefined ? 0 : Number(textOf(heard))
        return nowUs - heardUs < heardWithinUs ? [{ ...facts, id, heardAtMs: heardUs / 1_000 }] : []
      })
      living.sort((one, other) => one.startedAtMs - other.startedAtMs || byText(one.id, other.id))
      return { nowMs: nowUs / 1_000, living }
    },
    forget: async (id) =>
      void (await root.records.write({ when: [], remove: [['processes', id]], loosely: true })),
  }
}
