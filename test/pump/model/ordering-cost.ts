import { shiftDay, startOf, type Day } from '../../../src/domain/day.ts'
import { lineOf, identityOf, type Entry } from './entry.ts'
import { createRandom, type Random } from './random.ts'
import { createRun, firstDay, filesName, type Run, type RunOptions } from './run.ts'
import { runUntil } from './run-model.ts'
import { cursorKinds, orders, type WorldOptions } from './world.ts'

/**
 * What the rules of ordering cost: for each order and kind of cursor, how long an event takes from its arrival to its
 * commit, and how many requests a stream makes in an hour in which nothing happens.
 *
 *     node test/pump/model/ordering-cost.ts [pages a day, 40 unless told]
 */
const pages = Number(process.argv[2] ?? 40)
const pageSize = 20
const hourMs = 3_600_000
const everyMs = 30_000
const onTimeMs = 60_000
/** Traffic ends at noon, so that the afternoon is quiet. */
const busyHours = 12

const calm: Omit<RunOptions, 'world'> = {
  seed: 1,
  zones: 1,
  sinks: 1,
  days: 2,
  perDay: 0,
  oddShare: 0,
  everyMs,
  overlapMs: 600_000,
  faults: { crash: 0, freeze: 0, lostAnswer: 0, lostCommit: 0, doubledCommit: 0, stop: 0, sinkFailure: 0 },
  troubles: { count: 0, longestMs: 0 },
  setBackShare: 0,
  readRequestShare: 0,
  clockSteps: [],
  keepDays: 14,
  fleet: false,
}

interface Cost {
  readonly onTimeMs: readonly number[]
  readonly lateMs: readonly number[]
  /** Requests in a busy hour, and in a quiet one, of the second day; it has inherited what the first one proved. */
  readonly busyRequests: number
  readonly quietRequests: number
  readonly order: string
}

async function measure(order: WorldOptions['order'], cursors: WorldOptions['cursors']): Promise<Cost> {
  const world: WorldOptions = {
    order,
    cursors,
    pageSize,
    pageOverlap: 0,
    readableDays: 3,
    cursorLifeMs: null,
    skewMs: 0,
    dates: 'right',
    latencyMs: 200,
    failureShare: 0,
    emptyShare: 0,
  }
  const run = await createRun({ ...calm, world })
  const random = createRandom(7)
  const entries = run.days.flatMap((day, index) => dayOfTraffic(day, index, random))
  for (const entry of entries) run.world.add(1, entry)
  const day = shiftDay(firstDay, 1)
  const busy = await requestsBetween(run, startOf(day) + 8 * hourMs, 4)
  const quiet = await requestsBetween(run, startOf(day) + 18 * hourMs, 6)
  const checkpoint = await run.keeper.store().ledger.read({ zone: 1, day, sink: filesName })
  await run.keeper.close()
  const delays = (some: readonly Entry[]) =>
    some
      .map((entry) => run.delays.get(`1/${filesName}/${lineOf(identityOf(entry))}`))
      .filter((delay) => delay !== undefined)
      .sort((left, right) => left - right)
  const second = entries.filter((entry) => entry.day === day)
  return {
    onTimeMs: delays(second.filter(({ arrivesAtMs, sortMs }) => arrivesAtMs - sortMs <= onTimeMs)),
    lateMs: delays(second.filter(({ arrivesAtMs, sortMs }) => arrivesAtMs - sortMs > onTimeMs)),
    busyRequests: busy / 4,
    quietRequests: quiet / 6,
    order: checkpoint?.ordering.order ?? 'none',
  }
}

/** One in fifty appears up to four hours late. */
function dayOfTraffic(day: Day, index: number, random: Random): Entry[] {
  return Array.from({ length: pages * pageSize }, (_, number) => {
    const sortMs = startOf(day) + Math.floor(random.next() * busyHours * hourMs)
    const lateMs = random.chance(0.02) ? random.next() * 4 * hourMs : random.next() * onTimeMs
    const id = `d${index}e${number}`
    const arrivesAtMs = sortMs + lateMs
    return { key: id, id, day, timeMs: sortMs, sortMs, arrivesAtMs, shuffle: random.next() }
  })
}

/** Requests for the day in question; those of the day before, which is settling, are few. */
async function requestsBetween(run: Run, fromMs: number, hours: number): Promise<number> {
  await runUntil(run, fromMs)
  const before = run.world.requests
  await runUntil(run, fromMs + hours * hourMs)
  return run.world.requests - before
}

function seconds(values: readonly number[], share: number): string {
  const at = values[Math.min(values.length - 1, Math.floor(values.length * share))]
  return at === undefined ? '-' : (at / 1000).toFixed(0)
}

const head = [
  'order',
  'cursors',
  'confirmed as',
  'median s',
  '99 % s',
  'worst s',
  'late worst s',
  'req/h busy',
  'req/h quiet',
]
process.stdout.write(`${pages} pages a day, a poll every ${everyMs / 1000} s\n${head.join(' | ')}\n`)
for (const order of orders) {
  for (const cursors of cursorKinds) {
    const cost = await measure(order, cursors)
    const row = [
      order,
      cursors,
      cost.order,
      seconds(cost.onTimeMs, 0.5),
      seconds(cost.onTimeMs, 0.99),
      seconds(cost.onTimeMs, 1),
      seconds(cost.lateMs, 1),
      cost.busyRequests.toFixed(0),
      cost.quietRequests.toFixed(0),
    ]
    process.stdout.write(`${row.join(' | ')}\n`)
  }
}
