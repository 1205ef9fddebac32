import type { Delivery, Refusal } from '../../src/domain/event/delivery.ts'
import { cancelled, type Failure } from '../../src/domain/failure.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { fingerprintOf } from '../../src/domain/event/fingerprint.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import type { Checkpoint } from '../../src/domain/checkpoint.ts'
import type { Cursor, Page } from '../../src/domain/scan/page.ts'
import type { Policy } from '../../src/domain/policy.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'
import type { DeadLetterWork } from '../../src/tasks/dead-letters/replay.ts'
import type {
  AnySink,
  LoadBounds,
  PageRequest,
  OpenOptions,
  OpenStream,
  Reconciliation,
  Sink,
  TransactionalSink,
} from '../../src/ports/delivery.ts'
import type { Commit, Store } from '../../src/ports/store.ts'
import { createApiClock } from '../../src/pump/api-clock.ts'
import { pumpStream } from '../../src/pump/pump-stream.ts'
import type { PumpDeps, PumpJob } from '../../src/pump/session.ts'
import { openMemoryStore } from '../setup/stores.ts'
import { at, buildCheckpoint, policy, stream } from '../domain/builders.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'
import { noTracer } from '../fakes/no-tracer.ts'
import { own } from '../setup/leftovers.ts'

export const zone = { id: stream.zone, name: 'shop', account: 'default' }

export function eventAt(number: number, timeMs = at(1) + number * 1_000): Event {
  const identity = { id: `e${number}`, time: new Date(timeMs).toISOString() }
  const rest = { zone: { id: zone.id, name: zone.name }, labels: {}, log: {}, raw: () => ({}) }
  return { ...identity, timeMs, fingerprint: fingerprintOf(identity), ...rest }
}

/** The event of a dead letter of one. */
export function redo({ id }: { readonly id: string }): Event {
  return eventAt(Number(id.slice(1)))
}

/** What a replay of dead letters of the stream works with. */
export function replayOver(deps: PumpDeps, sink: AnySink, held = new Map<string, string>()): DeadLetterWork {
  return { deps, sinks: new Map([[stream.sink, sink]]), held, zoneOf: () => zone, redo }
}

export interface PageAnswer {
  readonly events: readonly Event[]
  readonly next?: string
  readonly more?: boolean
  readonly bytes?: number
  readonly hash?: string
  readonly clockOffsetMs?: number
  readonly ageMs?: number
  /** Default: each answer comes over its own. */
  readonly connection?: object
}

/** Answers each request; `number` counts them from 1. */
export type Answer = (request: PageRequest, number: number) => PageAnswer | Failure | Error

/** What answers a request in place of a page of the listing. */
export type Instead = (...of: Parameters<Answer>) => Failure | Error | undefined

/** A day of so many events, oldest first, in pages of so many. */
export function listingOf(events: readonly Event[], size: number, instead?: Instead): Answer {
  return (request, number) => {
    const from = Number(request.cursor ?? 0)
    const more = from + size < events.length
    const page = { events: events.slice(from, from + size), ...(more && { next: String(from + size) }) }
    return instead?.(request, number) ?? page
  }
}

export function firstEvents(count: number): Event[] {
  return Array.from({ length: count }, (_, index) => eventAt(index))
}

export function idsOf(from: number, to: number): string[] {
  return firstEvents(to)
    .slice(from)
    .map(({ id }) => id)
}

/** A delivery of which the sink has taken everything. */
export const whole: Delivery = { refusals: [], committed: [], bytes: 1 }

export const refusalsOf = (some: readonly Event[], answer = 'no'): Refusal[] =>
  some.map((event) => ({ event, reason: 'refused', answer }))

/** A stage whose day lists six events in pages of two. */
export const events = firstEvents(6)

export async function staged(): Promise<Stage> {
  const stage = await createStage()
  stage.script.answer = listingOf(events, 2)
  return stage
}

/** One stream with a real store, a source and a sink that do as they are told, and a clock of its own. */
export async function createStage(overrides: Partial<Policy> = {}) {
  const clock = createFakeClock(at(2), true)
  const internalEvents: InternalEvent[] = []
  const log: string[] = []
  const delivered: Event[] = []
  const opened: Reconciliation[] = []
  const options: OpenOptions[] = []
  const store = await openMemoryStore({ clock, deadLetterMaxBytes: 100_000 })
  own({ what: 'a store', isLeft: () => true, isFault: false, remove: () => store.close() })
  const apiClock = createApiClock(clock)
  const script = {
    answer: listingOf([], 1),
    /** A load of one page, unless a test is about loads. */
    load: { pages: 1 } as Partial<LoadBounds>,
    /** What a request takes. */
    latencyMs: 100,
    deliver: (async () => whole) as OpenStream['deliver'],
    reconcile: (async () => undefined) as (known: Reconciliation) => Promise<void>,
    commit: store.ledger.commit,
  }
  let [requests, held] = [0, 0]

  async function fetchPage(request: PageRequest, signal: AbortSignal): Promise<Page> {
    const number = ++requests
    log.push(`fetch ${request.cursor ?? 'first'}`)
    const requestedAt = clock.steady()
    await clock.sleep(script.latencyMs, signal)
    const answer = script.answer(request, number)
    if (signal.aborted) throw cancelled()
    if (answer instanceof Error) throw answer
    held++
    const { next = null, events, more = next !== null, ...page } = answer
    const content = () => ({ events, more, next: next as Cursor | null })
    const usual = { bytes: 10, ...(page.ageMs === undefined && { clockOffsetMs: 0 }), connection: {} }
    return { ...usual, ...page, content, requestedAt, release: () => void held-- }
  }

  const open: OpenStream = {
    async deliver(events, signal, goesOn) {
      const delivery = await script.deliver(events, signal, goesOn)
      log.push(`deliver ${events.map(({ id }) => id).join(' ')}`)
      delivered.push(...events)
      return delivery
    },
    close: async () => void log.push('close'),
  }
  const base = {
    name: stream.sink,
    address: 'stage',
    check: async () => undefined,
    close: async () => undefined,
  }
  const sink: TransactionalSink = {
    ...base,
    get load() {
      return script.load
    },
    async reconcile(_, known) {
      opened.push(known)
      log.push('open')
      await script.reconcile(known)
      return open
    },
    hasUncommitted: async () => false,
  }
  const plainSink: Sink = {
    ...base,
    get load() {
      return script.load
    },
    async open(_, given) {
      options.push(given)
      log.push('open')
      return open
    },
  }
  const tellingStore: Store = {
    ...store,
    ledger: {
      ...store.ledger,
      async commit(commit) {
        const answer = await script.commit(commit)
        log.push(`commit ${commit.next.commit}`)
        return answer
      },
    },
  }
  const deps: PumpDeps = {
    source: { fetchPage },
    store: tellingStore,
    clock,
    apiClock,
    telemetry: { emit: (internalEvent) => void internalEvents.push(internalEvent) },
    tracer: noTracer,
    policy: { ...policy, ...overrides },
    holder: { id: 'one', schedule: true },
    random: () => 0.5,
  }
  const job: PumpJob = {
    stream,
    zone,
    sink,
    priority: 'live',
    ordering: unknownOrdering,
    mayGoOn: () => true,
  }
  /** Commits what another process would. */
  async function change(
    of: (checkpoint: Checkpoint) => Checkpoint,
    more: Partial<Pick<Commit, 'seen' | 'unsee'>> = {},
  ): Promise<void> {
    const { fence, checkpoint = buildCheckpoint() } = await store.ledger.take(stream, deps.holder)
    const next = { ...of(checkpoint), commit: checkpoint.commit + 1 }
    const commit = { fence, basedOn: checkpoint.commit, next, deadLetters: [], gaps: [] }
    if ((await store.ledger.commit({ seen: new Map(), ...commit, ...more })) === 'refused')
      throw new Error('the commit was refused')
    await store.ledger.release(stream, fence)
  }

  return {
    clock,
    store,
    apiClock,
    script,
    deps,
    sink,
    plainSink,
    log,
    delivered,
    /** What the sink was opened with, and the plain sink. */
    opened,
    options,
    internalEvents,
    ids: () => delivered.map(({ id }) => id),
    requests: () => requests,
    /** Pages whose bytes were not given back. */
    held: () => held,
    names: () => internalEvents.map(({ name }) => name),
    read: () => store.ledger.read(stream),
    /** Steps of that kind: open, fetch, deliver, commit, close. */
    steps: (kind: string) => log.filter((line) => line.startsWith(kind)),
    change,
    /** As after the day's last scan. */
    complete: () => change((checkpoint) => ({ ...checkpoint, ended: { as: 'complete', atMs: 1 } })),
    pump: (
      more: Partial<PumpJob> = {},
      signal = new AbortController().signal,
      with_: Partial<PumpDeps> = {},
    ) => pumpStream({ ...job, ...more }, { ...deps, ...with_ }, signal),
  }
}

export type Stage = Awaited<ReturnType<typeof createStage>>
