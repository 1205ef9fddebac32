import { expect } from 'vitest'
import { isFailure } from '../../../src/domain/failure.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type { Commit } from '../../../src/ports/store.ts'
import {
  buildCheckpoint,
  buildDeadLetter,
  buildGap,
  buildHolder,
  buildStream,
  dayAt,
  nothingOld,
  packed,
} from './builders.ts'
import { compareLists, compareWithModel } from './compare-with-model.ts'
import { deadLetterKey, ModelStore } from './model.ts'
import type { OpenedStore } from './opened-store.ts'
import type { Step } from './steps.ts'

const holders = [buildHolder('a'), buildHolder('b'), buildHolder('s', true), buildHolder('t', true)]
const sinks = ['archive', 'siem', 'fresh']
const streams = [
  buildStream(),
  buildStream({ day: dayAt('2026-11-19') }),
  buildStream({ zone: 102, sink: 'siem' }),
]
const gapReasons = ['unreadable', 'not_running', 'too_large'] as const

/** What a pump holds: its fence as the store counts it, and as the model does. */
interface Take {
  readonly stream: Stream
  readonly fence: number
  readonly modelFence: number
}

/** Takes the same steps on a store and on the model. Each answer, and all that can be read at the end, must be equal. */
export async function runAgainstModel(opened: OpenedStore, steps: readonly Step[]): Promise<void> {
  const { clock } = opened
  const model = new ModelStore()
  const takes: Take[] = []
  const commits: { readonly commit: Commit; readonly modelFence: number }[] = []
  let { store } = opened
  let fingerprints = 1

  const take = async (stream: Stream, index: number): Promise<void> => {
    const expected = model.take(stream, holders[index]!, clock.now())
    const taken = await store.ledger.take(stream, holders[index]!).catch(codeOf)
    if (typeof taken === 'string' || expected === 'held') return expect(taken).toBe(expected)
    expect(taken.checkpoint).toEqual(expected.checkpoint)
    const before = takes.filter((each) => streamKey(each.stream) === streamKey(stream))
    expect(before.every(({ fence }) => taken.fence > fence)).toBe(true)
    takes.unshift({ stream, fence: taken.fence, modelFence: expected.fence })
  }

  const commitOf = (step: Step<'commit'>, { stream, fence }: Take): Commit => {
    const basedOn = (model.streams.get(streamKey(stream))?.checkpoint?.commit ?? 0) + step.basedOff
    const seen = new Map<number, Uint8Array>()
    for (const [minute, count] of step.minutes) {
      seen.set(minute, packed(fingerprints, count))
      fingerprints += count
    }
    const ended = step.endedAtMs === null ? {} : { ended: { as: 'complete', atMs: step.endedAtMs } as const }
    const next = buildCheckpoint(stream, basedOn + 1, ended)
    const deadLetters = [...new Set(step.deadLetters)].map((id) => deadLetterOf(stream, id))
    const removedDeadLetters = step.removed.map((id) => ({ id: `e${id}` }))
    const gaps = step.gaps.map((id) => gapOf(stream.sink, id))
    return { fence, basedOn, next, seen, deadLetters, removedDeadLetters, gaps }
  }

  const send = async (commit: Commit, modelFence: number): Promise<void> => {
    const expected = model.commit({ ...commit, fence: modelFence }, clock.now())
    expect(await store.ledger.commit(commit).catch(codeOf)).toBe(expected)
  }

  const write = async (step: Step<'commit' | 'repeat' | 'release'>): Promise<void> => {
    if (step.do === 'repeat') {
      const earlier = commits[step.commit]
      return earlier === undefined ? undefined : send(earlier.commit, earlier.modelFence)
    }
    const held = takes[step.take]
    if (held === undefined) return
    if (step.do === 'release') {
      model.release(held.stream, held.modelFence)
      return store.ledger.release(held.stream, held.fence)
    }
    const commit = commitOf(step, held)
    commits.unshift({ commit, modelFence: held.modelFence })
    return send(commit, held.modelFence)
  }

  const removeDeadLetters = async (ids: readonly number[]): Promise<void> => {
    const deadLetters = [...new Set(ids)].flatMap((id) => streams.map((stream) => deadLetterOf(stream, id)))
    const expected = deadLetters.filter((deadLetter) =>
      model.deadLetters.delete(deadLetterKey(deadLetter)),
    ).length
    expect(await store.deadLetters.remove(deadLetters)).toBe(expected)
  }

  const rename = async (from: string, to: string): Promise<void> => {
    const expected = model.renameSink(from, to, clock.now())
    const answer = await store.upkeep.renameSink(from, to).catch(codeOf)
    expect(answer).toBe(expected === 'taken' ? 'store_refuses' : expected)
  }

  const doStep = async (step: Step): Promise<void> => {
    switch (step.do) {
      case 'take':
        return take(streams[step.stream]!, step.holder)
      case 'heartbeat':
        model.heard.set(holders[step.holder]!.id, clock.now())
        return store.ledger.heartbeat(holders[step.holder]!)
      case 'wait':
        return clock.advance(step.ms)
      case 'forget':
        model.forget(streams[step.stream]!, clock.now())
        await store.upkeep.dropIndex(streams[step.stream]!)
        return
      case 'removeDeadLetters':
        return removeDeadLetters(step.deadLetters)
      case 'acknowledgeGaps': {
        const chosen = step.gaps.map((id) => gapOf('siem', id))
        const marked = model.acknowledgeGaps(chosen, step.atMs)
        return expect(await store.catalogue.acknowledgeGaps(chosen, step.atMs)).toBe(marked)
      }
      case 'addGaps':
        model.addGaps(step.gaps.map((id) => gapOf('siem', id)))
        return store.catalogue.addGaps(step.gaps.map((id) => gapOf('siem', id)))
      case 'rename':
        return rename(sinks[step.from]!, sinks[step.to]!)
      case 'prune':
        return store.upkeep.prune(model.prune(step.before, clock.now()), {
          ...nothingOld,
          gapsBefore: step.before,
        })
      case 'reopen':
        store = await opened.reopen()
        return
      default:
        return write(step)
    }
  }

  // Another connection, whose lists read what changed since the list before.
  const observer = await opened.reopen()
  for (const step of steps) {
    await doStep(step)
    compareLists(await observer.catalogue.checkpoints(), model)
  }
  const possible = sinks.flatMap((sink) => streams.map(({ zone, day }) => ({ zone, day, sink })))
  await compareWithModel(store, model, possible)
}

function deadLetterOf({ zone, day, sink }: Stream, id: number) {
  return buildDeadLetter({ zone, day, sink, id: `e${id}`, event: 'x'.repeat(4_000) })
}

function gapOf(sink: string, id: number) {
  return buildGap({ sink, from: id, recordedAt: id * 20, reason: gapReasons[id] ?? 'unreadable' })
}

function codeOf(error: unknown): string {
  if (isFailure(error)) return error.code
  throw error
}
