import { cancelled, Failure, isFailure } from '../../../src/domain/failure.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import { lakeName } from './entry.ts'
import type { RunOptions } from './any-run.ts'
import type { Random } from './random.ts'
import type { StoreKeeper } from './store-keeper.ts'

class Crash extends Error {}

export type PumpEnd = 'done' | 'failed' | 'crashed' | 'frozen' | 'stopped'

export type Life = ReturnType<Faults['life']>

interface Frozen {
  readonly key: string
  readonly thawAtMs: number
  thaw(): Promise<void>
}

export class Faults {
  readonly #shares: RunOptions['faults']
  readonly #random: Random
  readonly #fleet: boolean
  readonly #freeWriters: string[] = []
  #frozen: Frozen[] = []

  constructor(shares: RunOptions['faults'], random: Random, fleet: boolean) {
    this.#shares = shares
    this.#random = random
    this.#fleet = fleet
  }

  freeWriter(): string | undefined {
    return this.#random.chance(0.7) ? this.#freeWriters.pop() : undefined
  }

  isFrozen(key: string): boolean {
    return this.#frozen.some((frozen) => frozen.key === key)
  }

  async thawDue(nowMs: number): Promise<void> {
    const due = this.#frozen.filter(({ thawAtMs }) => thawAtMs <= nowMs)
    this.#frozen = this.#frozen.filter(({ thawAtMs }) => thawAtMs > nowMs)
    for (const frozen of due) await frozen.thaw()
  }

  thawAll(): Promise<void> {
    return this.thawDue(Infinity)
  }

  /** One process: it may die or freeze at any step, and does nothing more once it is dead. */
  life(writer: string, died: () => void) {
    let dead = false
    let freezeNow: (() => Promise<void>) | undefined
    const stopping = new AbortController()
    const die = () => {
      if (dead) return
      dead = true
      this.#freeWriters.push(writer)
      died()
    }
    return {
      isDead: () => dead,
      die,
      chance: (fault: keyof RunOptions['faults']) => this.#random.chance(this.#shares[fault]),
      signal: stopping.signal,
      step: async (point: string): Promise<void> => {
        if (dead) throw new Crash()
        if (this.#random.chance(this.#shares.stop)) stopping.abort(cancelled())
        // Some steps hear of it, others run to their end.
        if (stopping.signal.aborted && !point.startsWith('after')) throw cancelled()
        if (this.#random.chance(this.#shares.crash)) {
          die()
          throw new Crash()
        }
        if (this.#fleet && this.#frozen.length === 0 && this.#random.chance(this.#shares.freeze))
          await freezeNow?.()
      },
      run: async (key: string, nowMs: number, pump: () => Promise<unknown>): Promise<PumpEnd> => {
        let thaw: () => void = () => undefined
        const frozen = new Promise<PumpEnd>((resolveFrozen) => {
          freezeNow = () => {
            freezeNow = undefined
            const thawed = new Promise<void>((resolve) => (thaw = resolve))
            const thawAtMs = nowMs + this.#random.between(1_000, 7_200_000)
            const whole = async () => {
              thaw()
              await ended
              die()
            }
            this.#frozen.push({ key, thawAtMs, thaw: whole })
            resolveFrozen('frozen')
            return thawed
          }
        })
        const ended = pump().then(
          (failure): PumpEnd => (failure === undefined ? 'done' : 'failed'),
          (error: unknown): PumpEnd => {
            if (error instanceof Crash || dead) return 'crashed'
            if (stopping.signal.aborted) return 'stopped'
            if (isFailure(error)) return 'failed'
            throw error
          },
        )
        const end = await Promise.race([ended, frozen])
        if (end !== 'frozen') freezeNow = undefined
        if (!stopping.signal.aborted || end === 'frozen') return end
        die()
        return 'stopped'
      },
    }
  }

  /** The store as one process sees it. */
  store(keeper: StoreKeeper, life: Life): Store {
    const { store } = keeper
    const { ledger } = store
    const fails = ({ sink }: Stream) =>
      sink === lakeName && this.#frozen.length === 0 && this.#random.chance(this.#shares.failover)
    const alive = (): typeof ledger => {
      if (life.isDead()) throw new Crash()
      return ledger
    }
    return {
      ...store,
      ledger: {
        ...ledger,
        take: async (stream, holder) => {
          await life.step('before take')
          return alive().take(stream, holder)
        },
        loadSeen: async (...given) => {
          if (fails(given[0])) keeper.setBack()
          return await alive().loadSeen(...given)
        },
        holds: (...args) => alive().holds(...args),
        release: (stream, fence) => alive().release(stream, fence),
        commit: async (commit) => {
          await life.step('before commit')
          if (fails(commit.next.stream)) keeper.copy()
          if (this.#random.chance(this.#shares.lostCommit)) throw lost()
          const answer = await alive().commit(commit)
          if (this.#random.chance(this.#shares.doubledCommit) && (await alive().commit(commit)) !== answer) {
            throw new Error('the same commit was answered in two ways')
          }
          await life.step('after commit')
          if (this.#random.chance(this.#shares.lostAnswer)) throw lost()
          return answer
        },
      },
    }
  }
}

function lost(): Failure {
  return new Failure('retry', 'store_unavailable', 'no answer')
}
