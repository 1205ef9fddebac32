import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/clock.ts'
import type { Json } from '../../../src/domain/text/json.ts'
import { startOf } from '../../../src/domain/day.ts'
import { minuteOf } from '../../../src/domain/event/seen.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Source, Sink } from '../../../src/ports/delivery.ts'
import type { Store } from '../../../src/ports/store.ts'
import { createApiClock } from '../../../src/pump/api-clock.ts'
import { pumpStream } from '../../../src/pump/pump-stream.ts'
import type { PumpDeps, PumpJob } from '../../../src/pump/session.ts'
import { createRedactor } from '../../../src/shield/redaction/redact.ts'
import { toEvent } from '../../../src/shield/entries/to-event.ts'
import { entryJson } from '../../../src/simulator/entries/entry.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import { createTracer } from '../../../src/telemetry/tracing.ts'
import { median, type Figure } from '../figures/figure.ts'
import { withFolder } from '../processes/runs.ts'
import { yesterday } from './ways.ts'

export interface QuietPollOptions {
  readonly rounds: number
  readonly tell: (line: string) => void
}

const tailEvents = 1_000
const seenCounts = [1_000, 1_000_000] as const
const pageEvents = 1_000
/** How much more the large one may take, and how much less. */
const tolerance = 0.2

const day = yesterday()
const zone = { id: 101, name: 'shop', account: 'bench' }
const stream: Stream = { zone: zone.id, day, sink: 'none' }
const signal = new AbortController().signal

/** One stream whose tail page was all seen before, in a store that holds more or less besides. */
interface Quiet {
  /** Polls once. */
  poll(): Promise<Poll>
  readonly storeBytes: () => number
  close(): Promise<void>
}

interface Poll {
  readonly ms: number
  readonly loadedBytes: number
  /** Read of all files, as the kernel counts it; 0 where it does not. */
  readonly readBytes: number
}

/** A poll of a quiet stream: is it the same whatever the stream has seen? */
export function measureQuietPoll({ rounds, tell }: QuietPollOptions): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const few = await openQuiet(join(folder, 'few.db'), seenCounts[0])
    const many = await openQuiet(join(folder, 'many.db'), seenCounts[1])
    const polls = { few: [] as Poll[], many: [] as Poll[] }
    // Each first poll reads what the later ones find in the page cache.
    await few.poll()
    await many.poll()
    for (let round = 0; round < rounds; round++) {
      polls.few.push(await few.poll())
      polls.many.push(await many.poll())
    }
    tell(`quiet polls: ${rounds} of each`)
    await few.close()
    await many.close()
    return [
      comparison('time', (poll) => poll.ms, ' ms', polls),
      comparison('bytes of seen loaded', (poll) => poll.loadedBytes, '', polls),
      comparison('bytes read from files', (poll) => poll.readBytes, '', polls),
      {
        name: 'store of a million events',
        value: many.storeBytes() / seenCounts[1],
        unit: 'bytes an event',
        limit: { atMost: 12 },
      },
    ]
  })
}

function comparison(
  what: string,
  read: (poll: Poll) => number,
  unit: string,
  { few, many }: { few: readonly Poll[]; many: readonly Poll[] },
): Figure {
  const [less, more] = [median(few.map(read)), median(many.map(read))]
  const text = (value: number) => `${value < 100 ? value.toFixed(2) : value.toLocaleString('en')}${unit}`
  return {
    name: `quiet poll at 1,000,000 seen against 1,000: ${what}`,
    value: less === more ? 1 : more / less,
    unit: 'times',
    limit: { atMost: 1 + tolerance },
    detail: `${text(more)} against ${text(less)}`,
  }
}

async function openQuiet(path: string, seenCount: number): Promise<Quiet> {
  const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1 })
  let loadedBytes = 0
  const counted: Store = {
    ...store,
    ledger: {
      ...store.ledger,
      async loadSeen(of, minutes) {
        const found = await store.ledger.loadSeen(of, minutes)
        for (const bytes of found.values()) loadedBytes += bytes.byteLength
        return found
      },
    },
  }
  const deps: PumpDeps = {
    source: createTail(),
    store: counted,
    clock: systemClock,
    apiClock: createApiClock(systemClock),
    telemetry: { emit: () => undefined },
    tracer: createTracer('bench'),
    policy,
    holder: { id: 'bench', schedule: true },
    random: Math.random,
  }
  const pump = async () => {
    const failure = await pumpStream(job, deps, signal)
    if (failure !== undefined) throw failure
  }
  await pump()
  await addSeen(store, seenCount - tailEvents)
  return {
    async poll() {
      loadedBytes = 0
      const readBefore = bytesRead()
      const began = performance.now()
      await pump()
      return { ms: performance.now() - began, loadedBytes, readBytes: bytesRead() - readBefore }
    },
    storeBytes: () => statSync(path).size,
    close: () => store.close(),
  }
}

const policy = {
  everyMs: 0,
  readableDays: 3,
  firstRunDays: 3,
  overlapMs: 600_000,
  fullScanMs: 3_600_000,
  // The day counts as open, so that polls go on.
  settleAfterMs: [48 * 3_600_000],
}

const nowhere: Sink = {
  name: stream.sink,
  address: 'nowhere',
  open: async () => ({
    deliver: async () => ({ refusals: [], committed: [], bytes: 0 }),
    close: async () => {},
  }),
  check: async () => {},
  close: async () => {},
}

const job: PumpJob = {
  stream,
  zone,
  sink: nowhere,
  priority: 'live',
  ordering: { order: 'oldest-first', cursorProven: true, revocations: 0 },
  mayGoOn: () => false,
}

/** A listing of one page, of the day's last minutes. */
function createTail(): Source {
  const redactor = createRedactor('off')
  const shape = { seed: 1, entryBytes: 525 }
  const beganMs = startOf(day) + 1430 * 60_000
  // Read once, since reading takes longer than all that is to be compared.
  const events = Array.from({ length: tailEvents }, (_, seq) => {
    const text = entryJson(shape, { zone: zone.id, dayNumber: 1, seq }, beganMs + seq * 300)
    return toEvent(JSON.parse(text) as Json, zone, redactor)
  })
  return {
    fetchPage: async () => ({
      events,
      more: false,
      next: null,
      bytes: 525 * tailEvents,
      requestedAt: Date.now(),
      release: () => undefined,
    }),
  }
}

/** Fingerprints of a day up to its last minutes, page by page as pumps add them. */
async function addSeen(store: Store, count: number): Promise<void> {
  const { fence, checkpoint } = await store.ledger.take(stream, { id: 'bench', schedule: true })
  if (checkpoint === undefined) throw new Error('the tail was not committed')
  const firstMinute = minuteOf(startOf(day))
  let held = checkpoint
  for (let from = 0; from < count; from += pageEvents) {
    const counts = new Map<number, number>()
    for (let event = from; event < Math.min(count, from + pageEvents); event++) {
      const minute = firstMinute + Math.floor((event * 1430) / count)
      counts.set(minute, (counts.get(minute) ?? 0) + 1)
    }
    const seen = new Map([...counts].map(([minute, events]) => [minute, randomBytes(events * 8)]))
    const next = { ...held, commit: held.commit + 1 }
    const commit = { fence, basedOn: held.commit, next, seen, deadLetters: [], gaps: [] }
    if ((await store.ledger.commit(commit)) !== 'done') throw new Error('a commit was refused')
    held = next
  }
  await store.ledger.release(stream, fence)
}

function bytesRead(): number {
  try {
    return Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return 0
  }
}
