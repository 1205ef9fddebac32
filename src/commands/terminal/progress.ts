import type { Daemon } from '../../assemble/daemon/daemon.ts'
import type { Config } from '../../config/schema.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io, Output } from '../command.ts'
import { createLiveBlock, liveLog, createTeller, type Teller } from './live.ts'
import { paintFor, wrapped } from './terminal.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { zoneText, counted } from './text.ts'
import { durationText } from '../../domain/text/time.ts'
import { tableLines } from './table.ts'
import type { Paint } from './terminal.ts'

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

/** What was shipped of one zone to one sink since the start. */
export interface RouteTally {
  readonly zone: number
  /** For people: `101 (shop)`. */
  readonly title: string
  readonly sink: string
  readonly pages: number
  readonly delivered: number
  /** Of those delivered, events that the destination says it dropped. */
  readonly lost: number
  /** Left out by `where` and `sample` of the sink. */
  readonly filtered: number
  /** Too old for the destination. */
  readonly skipped: number
  /** Absent until the store was read. */
  readonly lagSeconds?: number
}

export interface Tally {
  count(internalEvent: InternalEvent): void
  learnLags(snapshot: StateSnapshot): void
  /** By zone, then sink, in the order of the configuration. */
  routes(): readonly RouteTally[]
}

type Counted = { -readonly [Key in keyof RouteTally]: RouteTally[Key] }

export function createTally(config: Config): Tally {
  const routes = new Map<string, Counted>()
  for (const { zones } of config.accounts) {
    for (const { id, name } of zones) {
      const title = zoneText(id, name)
      for (const { name: sink } of config.sinks)
        routes.set(keyOf({ zone: id, sink }), {
          zone: id,
          title,
          sink,
          pages: 0,
          delivered: 0,
          filtered: 0,
          skipped: 0,
          lost: 0,
        })
    }
  }
  return {
    count(internalEvent) {
      const { name } = internalEvent
      if (name !== 'PageFetched' && name !== 'PageCommitted' && name !== 'EventsSkipped') return
      // A reload may add zones that the table does not show.
      const route = routes.get(keyOf(internalEvent.stream))
      if (route === undefined) return
      if (internalEvent.name === 'EventsSkipped') {
        route.skipped += internalEvent.count
        return
      }
      if (internalEvent.name === 'PageFetched') {
        route.pages++
        return
      }
      route.delivered += internalEvent.delivered
      route.filtered += internalEvent.filtered
      route.lost += internalEvent.lost ?? 0
    },
    learnLags(snapshot) {
      for (const state of snapshot.routes) {
        const route = routes.get(keyOf(state))
        if (route !== undefined) route.lagSeconds = state.lagSeconds
      }
    },
    routes: () => [...routes.values()],
  }
}

function keyOf({ zone, sink }: { readonly zone: number; readonly sink: string }): string {
  return `${zone} ${sink}`
}

/** More rows would not fit on a small terminal. */
const mostRows = 15

interface Row {
  readonly who: string
  readonly pages: number
  readonly delivered: number
  readonly lagSeconds?: number
}

/** The table that is redrawn in place, in lines narrower than `columns`. */
export function blockLines(routes: readonly RouteTally[], paint: Paint, columns: number): string[] {
  const rows = rowsOf(routes)
  const cells = rows.map(({ who, pages, delivered, lagSeconds }) => [
    who,
    String(pages).padStart(8),
    String(delivered).padStart(10),
    lagSeconds === undefined ? '…' : durationText(lagSeconds),
  ])
  // Leaves the last column free: some terminals wrap there.
  const width = Math.max(1, columns - 1)
  const lines = tableLines(['zone', 'pages'.padStart(8), 'shipped'.padStart(10), 'lag'], cells, { width })
  return lines.map((line, index) => (index === 0 ? paint.dim(line) : line))
}

/** The same as plain lines, where the output is no terminal. */
export function plainLines(routes: readonly RouteTally[]): string[] {
  return rowsOf(routes).map(({ who, pages, delivered, lagSeconds }) => {
    const lag = lagSeconds === undefined ? '' : `, lag ${durationText(lagSeconds)}`
    return `zone ${who}: ${counted(pages, 'page')}, ${counted(delivered, 'event')} shipped${lag}`
  })
}

/** Summary of the whole run. */
export function summaryLine(routes: readonly RouteTally[], seconds: number): string {
  const shipped = [...Map.groupBy(routes, ({ sink }) => sink)].map(([sink, own]) => {
    const aside = [
      [sumOf(own, 'lost'), 'dropped by the destination'],
      [sumOf(own, 'filtered'), 'filtered'],
      [sumOf(own, 'skipped'), 'skipped, too old for it'],
    ] as const
    const told = aside.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
    const rest = told.length === 0 ? '' : ` (${told.join('; ')})`
    return `${counted(sumOf(own, 'delivered'), 'event')} to ${sink}${rest}`
  })
  const zones = new Set(routes.map(({ zone }) => zone)).size
  const from = `${counted(sumOf(routes, 'pages'), 'page')} of ${counted(zones, 'zone')}`
  return `shipped ${shipped.length === 0 ? 'nothing' : shipped.join(' and ')}; read ${from} in ${seconds.toFixed(1)} s`
}

function rowsOf(routes: readonly RouteTally[]): Row[] {
  const several = new Set(routes.map(({ sink }) => sink)).size > 1
  const rows = routes.map(({ title, sink, ...rest }) => ({
    ...rest,
    who: several ? `${title} → ${sink}` : title,
  }))
  if (rows.length <= mostRows) return rows
  const left = routes.slice(mostRows - 1)
  const lags = left.flatMap(({ lagSeconds }) => lagSeconds ?? [])
  const others = {
    who: `… and ${left.length} more`,
    pages: sumOf(left, 'pages'),
    delivered: sumOf(left, 'delivered'),
    ...(lags.length > 0 && { lagSeconds: Math.max(...lags) }),
  }
  return [...rows.slice(0, mostRows - 1), others]
}

function sumOf(
  routes: readonly RouteTally[],
  field: 'pages' | 'delivered' | 'filtered' | 'skipped' | 'lost',
): number {
  let sum = 0
  for (const route of routes) sum += route[field]
  return sum
}
