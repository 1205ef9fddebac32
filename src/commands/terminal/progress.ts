import type { Daemon } from '../../assemble/daemon/daemon.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io, Output } from '../io.ts'
import { createLiveBlock, liveLog } from './live-block.ts'
import { createTally } from './progress-tally.ts'
import { blockLines, plainLines, summaryLine } from './progress-text.ts'
import { createTeller, type Teller } from './teller.ts'
import { paintFor } from './terminal.ts'
import { wrapped } from './wrapped.ts'

/** `live`: a table redrawn in place. `plain`: lines at intervals. `quiet`: only the summary. */
export type ProgressMode = 'live' | 'plain' | 'quiet'

/** Shows pages, events and lag per zone while a command ships, and a summary at its end. */
export interface Progress {
  readonly mode: ProgressMode
  readonly watch: (internalEvent: InternalEvent) => void
  /** Target of log lines while a table is drawn; undefined where the log writes directly. */
  readonly log: Output | undefined
  /** Prints a line for people, above the table. */
  readonly say: Teller
  /** Updates the display until the signal aborts. Never rejects. */
  follow(daemon: Daemon, signal: AbortSignal): Promise<void>
  /** Prints nothing after this. */
  end(): void
}

const redrawMs = 250
/** Only the lag requires a read of the store. */
const lagEveryMs = 1_000
const usualColumns = 80
/** Plain lines are frequent at first, while somebody may be watching, and rare in the log of a long run. */
const plainMs = { first: 2_000, later: 10_000, firstForMs: 20_000 }

/**
 * A sink that writes to stdout may print to the same terminal, even through a pipe: then nothing is redrawn in place.
 */
export function progressMode({ sinks, log }: Config, { stdout, stderr }: Io): ProgressMode {
  const toStdout = sinks.some(({ type }) => type === 'stdout')
  if (toStdout) return stdout.isTTY === true ? 'quiet' : 'plain'
  return stderr.isTTY === true && log.format !== 'json' ? 'live' : 'plain'
}

export function createProgress(config: Config, io: Io, clock: Clock): Progress {
  const mode = progressMode(config, io)
  const output = io.stderr
  const tally = createTally(config)
  const block = mode === 'live' ? createLiveBlock(output) : undefined
  const tell = createTeller(config, output)
  const beganMs = clock.monotonic()
  let printed = new Map<string, number>()

  function show(): void {
    const routes = tally.routes()
    block?.draw(blockLines(routes, paintFor(output), output.columns ?? usualColumns))
    if (mode !== 'plain') return
    // Prints only what has changed.
    const moved = routes.filter(({ title, sink, pages }) => printed.get(`${title} ${sink}`) !== pages)
    if (moved.length > 0) for (const line of plainLines(routes)) tell(line)
    printed = new Map(routes.map(({ title, sink, pages }) => [`${title} ${sink}`, pages]))
  }

  function pauseMs(): number {
    if (mode === 'live') return redrawMs
    return clock.monotonic() - beganMs < plainMs.firstForMs ? plainMs.first : plainMs.later
  }

  async function learnLags(daemon: Daemon): Promise<void> {
    const snapshot = await snapshotOf(daemon)
    if (snapshot !== undefined) tally.learnLags(snapshot)
  }

  return {
    mode,
    watch: (internalEvent) => tally.count(internalEvent),
    log: block && liveLog(block, output),
    say(line, level) {
      if (block === undefined) tell(line, level)
      else block.write(wrapped(`${line}\n`, output))
    },
    async follow(daemon, signal) {
      if (mode === 'quiet') return
      let readAtMs = -Infinity
      while (!signal.aborted) {
        await clock.sleep(pauseMs(), signal).catch(() => undefined)
        if (signal.aborted) break
        if (clock.monotonic() - readAtMs >= lagEveryMs) {
          readAtMs = clock.monotonic()
          await learnLags(daemon)
        }
        show()
      }
      await learnLags(daemon)
    },
    end() {
      show()
      tell(summaryLine(tally.routes(), (clock.monotonic() - beganMs) / 1000))
    },
  }
}

/** Undefined before the state is open, and while the store does not answer: the log has the reason. */
async function snapshotOf(daemon: Daemon) {
  return daemon
    .engine()
    ?.snapshot()
    .catch(() => undefined)
}
