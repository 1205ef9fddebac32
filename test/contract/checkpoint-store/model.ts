import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { DeadLetter } from '../../../src/domain/event/delivery.ts'
import { unpackFingerprints } from '../../../src/domain/event/seen.ts'
import { streamKey, type Gap, type Stream } from '../../../src/domain/stream.ts'
import type { Commit, Holder } from '../../../src/ports/store.ts'

interface Held {
  stream: Stream
  fence: number
  holder: Holder | undefined
  checkpoint: Checkpoint | undefined
  lastCommit: string | undefined
  seen: Map<number, bigint[]>
  counted: Map<number, bigint[]>
  isIndexDropped: boolean
}

/** Dead letters of at most half the limit: so many fit, whatever a store counts beside their text. */
export const deadLettersThatFit = 2

/** What a checkpoint store is, without durability and without care for size or speed. */
export class ModelStore {
  streams = new Map<string, Held>()
  heard = new Map<string, number>()
  deadLetters = new Map<string, DeadLetter>()
  gaps = new Map<string, Gap>()
  /** Days that were shipped, and pruned. */
  pruned = new Set<string>()
  highestFence = 0

  isLive(holder: Holder, nowMs: number): boolean {
    return nowMs - (this.heard.get(holder.id) ?? -Infinity) < 20_000
  }

  take(stream: Stream, by: Holder, nowMs: number): 'held' | { fence: number; checkpoint: unknown } {
    const key = streamKey(stream)
    const held = this.streams.get(key)
    const other = held?.holder
    const dead = other?.schedule === true && by.schedule
    if (other !== undefined && other.id !== by.id && !dead && this.isLive(other, nowMs)) return 'held'
    this.heard.set(by.id, nowMs)
    const fence = (held?.fence ?? this.highestFence) + 1
    const fresh: Held = {
      stream,
      fence,
      holder: by,
      checkpoint: undefined,
      lastCommit: undefined,
      seen: new Map(),
      counted: new Map(),
      isIndexDropped: false,
    }
    this.streams.set(key, held === undefined ? fresh : { ...held, fence, holder: by })
    return { fence, checkpoint: held?.checkpoint }
  }

  release(stream: Stream, fence: number): void {
    const held = this.streams.get(streamKey(stream))
    if (held?.fence === fence) held.holder = undefined
  }

  commit(commit: Commit, nowMs: number): 'done' | 'refused' | 'dead_letters_full' {
    const held = this.streams.get(streamKey(commit.next.stream))
    if (held === undefined) return 'refused'
    const text = textOf(commit)
    if (held.lastCommit === text) return 'done'
    if (held.fence !== commit.fence || (held.checkpoint?.commit ?? 0) !== commit.basedOn) return 'refused'
    const deadLetters = new Map(this.deadLetters)
    const { sink, zone, day } = commit.next.stream
    for (const key of commit.removedDeadLetters ?? [])
      deadLetters.delete(deadLetterKey({ zone, day, sink, ...key }))
    for (const deadLetter of commit.deadLetters) deadLetters.set(deadLetterKey(deadLetter), deadLetter)
    const countOf = (all: ReadonlyMap<string, DeadLetter>) =>
      [...all.values()].filter((each) => each.sink === sink).length
    if (countOf(deadLetters) > deadLettersThatFit && countOf(deadLetters) > countOf(this.deadLetters))
      return 'dead_letters_full'
    this.deadLetters = deadLetters
    if (commit.unsee === 'all') {
      held.seen.clear()
      held.counted.clear()
      held.isIndexDropped = false
      this.pruned.delete(streamKey(commit.next.stream))
    }
    for (const [minute, bytes] of commit.seen) {
      const values = unpackFingerprints(bytes)
      held.seen.set(minute, [...(held.seen.get(minute) ?? []), ...values])
      held.counted.set(minute, [...(held.counted.get(minute) ?? []), ...values])
    }
    this.addGaps(commit.gaps)
    held.checkpoint = commit.next
    held.lastCommit = text
    if (held.holder !== undefined) this.heard.set(held.holder.id, nowMs)
    return 'done'
  }

  forget(stream: Stream, nowMs: number): void {
    const held = this.streams.get(streamKey(stream))
    if (held === undefined || (held.holder !== undefined && this.isLive(held.holder, nowMs))) return
    held.isIndexDropped ||= [...held.seen.values()].some((values) => values.length > 0)
    held.seen.clear()
  }

  dropped(stream: Stream): 'index' | 'day' | undefined {
    const key = streamKey(stream)
    if (this.pruned.has(key)) return 'day'
    return this.streams.get(key)?.isIndexDropped === true ? 'index' : undefined
  }

  addGaps(gaps: readonly Gap[]): void {
    for (const gap of gaps) {
      const [key, { readAt }] = [gapKey(gap), gap]
      const before = this.gaps.get(key)
      const isThere = before !== undefined && before.readAt === undefined
      if (readAt === undefined && !isThere) this.gaps.set(key, gap)
      if (readAt !== undefined && isThere) this.gaps.set(key, { ...before, readAt })
    }
  }

  renameSink(from: string, to: string, nowMs: number): 'taken' | 'held' | number {
    if (from === to) return 0
    if ([...this.deadLetters.values(), ...this.gaps.values()].some(({ sink }) => sink === to)) return 'taken'
    const of = (name: string) => [...this.streams.values()].filter(({ stream }) => stream.sink === name)
    const moved = of(from)
    const isLive = ({ holder }: Held) => holder !== undefined && this.isLive(holder, nowMs)
    if ([...moved, ...of(to)].some(isLive)) return 'held'
    for (const replaced of of(to)) this.drop(replaced)
    const deadLetters = [...this.deadLetters.values()].map((deadLetter) => renamed(deadLetter, from, to))
    this.deadLetters = new Map(deadLetters.map((deadLetter) => [deadLetterKey(deadLetter), deadLetter]))
    const isOf = (key: string, name: string) => key.endsWith(`/${name}`)
    const prunedOfIt = [...this.pruned].filter((key) => isOf(key, from))
    this.pruned = new Set([...this.pruned].filter((key) => !isOf(key, from) && !isOf(key, to)))
    for (const key of prunedOfIt) this.pruned.add(`${key.slice(0, -from.length)}${to}`)
    const gaps = [...this.gaps.values()].map((gap) => renamed(gap, from, to))
    this.gaps = new Map(gaps.map((gap) => [gapKey(gap), gap]))
    for (const held of moved) {
      this.drop(held)
      held.stream = renamed(held.stream, from, to)
      if (held.checkpoint !== undefined) held.checkpoint = { ...held.checkpoint, stream: held.stream }
      this.streams.set(streamKey(held.stream), held)
    }
    return moved.length
  }

  /** Returns the streams that ended before, which the store is told to drop. */
  prune(before: number, nowMs: number): Stream[] {
    const old = [...this.streams.values()].filter(({ checkpoint }) => {
      return checkpoint?.ended !== undefined && checkpoint.ended.atMs < before
    })
    for (const held of old) {
      if (held.holder !== undefined && this.isLive(held.holder, nowMs)) continue
      this.drop(held)
      if (held.checkpoint!.ended!.as === 'complete') this.pruned.add(streamKey(held.stream))
    }
    for (const [key, gap] of this.gaps) if (gap.recordedAt < before) this.gaps.delete(key)
    return old.map(({ stream }) => stream)
  }

  drop(held: Held): void {
    this.streams.delete(streamKey(held.stream))
    this.highestFence = Math.max(this.highestFence, held.fence)
  }
}

function textOf({ seen, ...rest }: Commit): string {
  return JSON.stringify([rest, [...seen].map(([minute, bytes]) => [minute, [...bytes]])])
}

function gapKey({ zone, sink, day, from, reason }: Gap): string {
  return JSON.stringify([zone, sink, day, from, reason])
}

function deadLetterKey({
  zone,
  day,
  sink,
  id,
  time,
}: Pick<DeadLetter, 'zone' | 'day' | 'sink' | 'id' | 'time'>): string {
  return JSON.stringify([zone, day, sink, id, time])
}

function renamed<T extends { readonly sink: string }>(value: T, from: string, to: string): T {
  return value.sink === from ? { ...value, sink: to } : value
}
