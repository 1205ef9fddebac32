import type { Config } from '../../config/schema/schema.ts'
import type { Backfill } from '../../domain/plan/backfill.ts'
import type { Failure } from '../../domain/failure.ts'
import type { PlannedStream } from '../../domain/plan/plan-route.ts'
import { plan } from '../../domain/plan/plan.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Holder } from '../../ports/ledger.ts'
import type { Store } from '../../ports/store.ts'
import { drain, type GivenUp } from '../../schedule/local/drain.ts'
import { createHolder, type QuietRuntime } from '../quiet-runtime.ts'
import { heldSinks, rememberSinks } from '../held-sinks.ts'
import { createLock } from '../state.ts'
import { createShipping, type Shipping } from '../shipping.ts'

/** `elsewhere`: another process ships on the store and takes the backfill; `ended`: nothing of it is left to try. */
export type InPlace =
  | { readonly as: 'elsewhere'; readonly holder: string }
  | { readonly as: 'ended'; readonly givenUp: readonly GivenUp[] }

interface InPlaceJob {
  readonly config: Config
  readonly runtime: QuietRuntime
  readonly store: Store
  readonly id: string
}

/**
 * Reads the streams of one backfill under the schedule lock, but nothing that is due and no older backfills. Backfills
 * created meanwhile are read too, since their commands were told that a process takes them. Throws `cancelled` and the
 * Failures of a store; unread streams stay in the store.
 */
export async function runInPlace(
  { config, runtime, store, id }: InPlaceJob,
  signal: AbortSignal,
): Promise<InPlace> {
  const lock = createLock(config, runtime.clock)
  const locked = await lock.acquire()
  if (!locked.ok) return { as: 'elsewhere', holder: locked.holder }
  const holder = createHolder(true)
  const held = await heldSinks(config, store)
  await rememberSinks(config, store, held)
  const shipping = createShipping(config, runtime, { store, holder, held: () => held })
  try {
    const givenUp = await drainBackfills({ config, runtime, store, id, shipping, holder }, signal)
    return { as: 'ended', givenUp: givenUp.filter(({ planned }) => planned.readRequest?.id === id) }
  } finally {
    await shipping.close()
    await lock.release()
  }
}

async function drainBackfills(
  {
    config,
    runtime,
    store,
    id,
    shipping,
    holder,
  }: InPlaceJob & { readonly shipping: Shipping; readonly holder: Holder },
  signal: AbortSignal,
): Promise<GivenUp[]> {
  const { clock, apiClock } = runtime
  const others = new Set((await store.backfills.list()).flatMap((each) => (each.id === id ? [] : [each.id])))
  let requested: ReadonlySet<string> = new Set()

  async function planOwn(): Promise<PlannedStream[]> {
    // Treats older backfills as paused, so that the planner keeps what they have begun.
    const backfills = (await store.backfills.list()).map((each) =>
      others.has(each.id) && each.state === 'running' ? { ...each, state: 'paused' as const } : each,
    )
    const next = await planBackfills(backfills, store, shipping, apiClock.now)
    requested = new Set(next.map(readRequestKey))
    return next
  }

  function pump(planned: PlannedStream, abort: AbortSignal): Promise<Failure | undefined> {
    // The plan no longer contains a paused or cancelled backfill: its stream ends after the current page.
    return shipping.pump(planned, () => requested.has(readRequestKey(planned)), abort)
  }

  return drain(
    {
      clock,
      plan: planOwn,
      pump,
      streams: () => config.workers.backfillStreams,
      heartbeat: () => store.ledger.heartbeat(holder),
      progressed: () => undefined,
    },
    signal,
  )
}

async function planBackfills(
  backfills: readonly Backfill[],
  store: Store,
  { settings }: Shipping,
  nowOf: (account: string) => number,
): Promise<PlannedStream[]> {
  const [checkpoints, routes] = await Promise.all([store.catalogue.checkpoints(), store.catalogue.routes()])
  const { held, ...configured } = settings()
  return plan({ ...configured, nowOf, checkpoints, routes, backfills }).filter(
    ({ priority, stream }) => priority === 'backfill' && held?.has(stream.sink) !== true,
  )
}

function readRequestKey({ stream, readRequest }: PlannedStream): string {
  return `${streamKey(stream)} ${readRequest?.id}`
}
