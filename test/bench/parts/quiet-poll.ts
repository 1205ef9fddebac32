import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/clock.ts'
import { startOf } from '../../../src/domain/day.ts'
import { minuteOf } from '../../../src/domain/event/seen.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Store } from '../../../src/ports/store.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import { median, type Figure } from '../figures/figure.ts'
import { simulatedEvents } from '../cost/costs.ts'
import { withFolder } from '../processes/runs.ts'
import { createPump, hourly, hourMs } from './pumped.ts'
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
const stream: Stream = { zone: 101, day, sink: 'none' }

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
  const beganMs = startOf(day) + 1430 * 60_000
  // The day counts as open, so that polls go on.
  const policy = { ...hourly, everyMs: 0, settleAfterMs: [48 * hourMs] }
  const tail = () => simulatedEvents(tailEvents, (index) => beganMs + index * 300)
  const pumpOne = createPump(counted, policy, tail)
  const pump = () => pumpOne(stream)
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
