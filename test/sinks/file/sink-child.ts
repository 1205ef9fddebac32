/**
 * A sink in a process of its own. argv: path, then `obey` or `ship` with a commit log. `obey`: one JSON command a line
 * on stdin, one JSON answer a line on stdout. `ship`: waits for a word on stdin, then ships pages until it is killed; a
 * commit is one line in the log, written after the delivery resolved.
 */
import { appendFileSync } from 'node:fs'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { systemClock } from '../../../src/clock.ts'
import { isFailure, messageOf } from '../../../src/domain/failure.ts'
import type { CommittedLengths, OpenStream, TransactionalSink } from '../../../src/ports/delivery.ts'
import type { Clock } from '../../../src/ports/process.ts'
import { createFileSink } from '../../../src/sinks/file/sink.ts'
import { buildEvents, type Commit, contractFormat, never, readCommits, streamOf } from './samples.ts'

export interface Command {
  readonly open?: CommittedLengths
  readonly deliver?: { readonly prefix: string; readonly count: number }
}

const [path, mode, log] = process.argv.slice(2)
if (mode === 'ship') await ship(buildSink(true), log!)
else await obey(buildSink(false))

function buildSink(isFast: boolean): TransactionalSink {
  return createFileSink(
    {
      name: 'archive',
      path: path!,
      mode: 0o600,
      dirMode: 0o700,
      // So small and fast that rotation and compression are among what is killed.
      rotate: { maxBytes: isFast ? 3000 : 268_435_456, maxAgeMinutes: 1440 },
      compress: isFast ? 'gzip' : 'none',
    },
    { format: contractFormat, clock: isFast ? fastClock(6000) : systemClock, telemetry: { emit() {} } },
  )
}

/** The host's time, running so many times faster from now on. */
function fastClock(factor: number): Clock {
  const start = Date.now()
  const now = () => start + (Date.now() - start) * factor
  return { now, steady: now, monotonic: now, sleep: (ms, signal) => systemClock.sleep(ms / factor, signal) }
}

async function ship(sink: TransactionalSink, log: string): Promise<void> {
  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  const commits = readCommits(log)
  await Promise.all([1, 2, 3].map((zone) => shipZone(sink, log, zone, commits)))
}

async function shipZone(
  sink: TransactionalSink,
  log: string,
  zone: number,
  commits: readonly Commit[],
): Promise<void> {
  const known = commits.filter((commit) => commit.zone === zone)
  const committed = new Map(
    known.flatMap((commit) => commit.committed).map((committedPart) => [committedPart.part, committedPart]),
  )
  for (let page = known.length; ;) {
    const known = { storeId: 'store-1', committed: [...committed.values()], confirm: holds }
    const opened = await sink.reconcile(streamOf(sink, zone), known, never())
    for (let turn = 0; turn < 3; turn++, page++) {
      const events = buildEvents(1 + ((page * 7) % 40), `${zone}-${page}`)
      const delivery = await opened.deliver(events, never())
      const ids = events.map((event) => event.id)
      appendFileSync(
        log,
        `${JSON.stringify({ zone, committed: delivery.committed, ids } satisfies Commit)}\n`,
      )
      for (const committedPart of delivery.committed) committed.set(committedPart.part, committedPart)
    }
    await opened.close()
  }
}

async function obey(sink: TransactionalSink): Promise<void> {
  let opened: OpenStream | undefined
  process.stdout.write('ready\n')
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line) as Command
    try {
      if (command.open !== undefined) {
        const known = { ...command.open, confirm: holds }
        opened = await sink.reconcile(streamOf(sink, 101), known, never())
      }
      const { prefix, count } = command.deliver ?? { prefix: '', count: 0 }
      const delivery = await opened?.deliver(buildEvents(count, prefix), never())
      answer({ committed: delivery?.committed ?? [] })
    } catch (error) {
      answer({ code: isFailure(error) ? error.code : 'bug', message: messageOf(error) })
    }
  }
  await sink.close()
}

/** Nobody takes a stream over without the parent's doing, which knows about it. */
function holds(): Promise<void> {
  return Promise.resolve()
}

function answer(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
