import type { Daemon } from '../../assemble/daemon/daemon.ts'
import type { Config } from '../../config/schema.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { StateSnapshot } from '../../domain/plan/snapshot.ts'
import { durationText } from '../../domain/text/time.ts'
import type { Clock } from '../../ports/process.ts'
import type { Io } from '../command.ts'
import { createDisplay, type Display } from './live.ts'
import { tableLines } from './table.ts'
import { paintFor, type Paint, counted, plainSomeOf, sumOf, zoneText } from './text.ts'

/** Shows pages, events and lag per zone while a command ships, and a summary at its end. */
export interface Progress extends Pick<Display, 'log' | 'say'> {
  readonly watch: (internalEvent: InternalEvent) => void
  /** Updates the display until the signal aborts. Never rejects. */
  follow(daemon: Daemon, signal: AbortSignal): Promise<void>
  /** Prints nothing after this. */
  end(): void
}

const redrawMs = 250
/** Only the lag requires a read of the store. */
const lagEveryMs = 1_000

export function createProgress(config: Config, io: Io, clock: Clock): Progress {
  const tally = createTally(config)
  const display = createDisplay(config, io, clock, redrawMs)
  let shownPages = -1

  function show(): void {
    const routes = tally.routes()
    display.draw(blockLines(routes, paintFor(io.stderr), display.width()))
    const pages = sumOf(routes, 'pages')
    // A lag alone is no progress.
    if (pages !== shownPages) display.print(plainLines(routes))
    shownPages = pages
  }

  /** The lag is unknown before the state is open, and while the store does not answer: the log has the reason. */
  async function learnLags(daemon: Daemon): Promise<void> {
    const snapshot = await daemon
      .engine()
      ?.snapshot()
      .catch(() => undefined)
    if (snapshot !== undefined) tally.learnLags(snapshot)
  }

  return {
    log: display.log,
    say: display.say,
    watch: (internalEvent) => tally.count(internalEvent),
    async follow(daemon, signal) {
      if (display.mode === 'quiet') return
      let readAtMs = -Infinity
      while (!signal.aborted) {
        await clock.sleep(display.pauseMs(), signal).catch(() => undefined)
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
      display.keep()
      display.say(summaryLine(tally.routes(), display.seconds()))
    },
  }
}

/** What was shipped of one zone to one sink since the start. */
interface RouteTally {
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

type Counted = { -readonly [Key in keyof RouteTally]: RouteTally[Key] }

function createTally(config: Config) {
  const routes = new Map<string, Counted>()
  for (const { id, name } of config.accounts.flatMap(({ zones }) => zones)) {
    const counts = { pages: 0, delivered: 0, filtered: 0, skipped: 0, lost: 0 }
    for (const { name: sink } of config.sinks)
      routes.set(keyOf({ zone: id, sink }), { zone: id, title: zoneText(id, name), sink, ...counts })
  }
  return {
    count(internalEvent: InternalEvent): void {
      const { name } = internalEvent
      if (name !== 'PageFetched' && name !== 'PageCommitted' && name !== 'EventsSkipped') return
      // A reload may add zones that the table does not show.
      const route = routes.get(keyOf(internalEvent.stream))
      if (route === undefined) return
      if (internalEvent.name === 'EventsSkipped') route.skipped += internalEvent.count
      else if (internalEvent.name === 'PageFetched') route.pages++
      else {
        route.delivered += internalEvent.delivered
        route.filtered += internalEvent.filtered
        route.lost += internalEvent.lost ?? 0
      }
    },
    learnLags(snapshot: StateSnapshot): void {
      for (const state of snapshot.routes) {
        const route = routes.get(keyOf(state))
        if (route !== undefined) route.lagSeconds = state.lagSeconds
      }
    },
    /** By zone, then sink, in the order of the configuration. */
    routes: (): readonly RouteTally[] => [...routes.values()],
  }
}

function keyOf({ zone, sink }: { readonly zone: number; readonly sink: string }): string {
  return `${zone} ${sink}`
}

/** More rows would not fit on a small terminal. */
const mostRows = 15

/** The table that is redrawn in place. */
function blockLines(routes: readonly RouteTally[], paint: Paint, width: number): string[] {
  const cells = rowsOf(routes).map(({ who, pages, delivered, lagSeconds }) => [
    who,
    String(pages).padStart(8),
    String(delivered).padStart(10),
    lagSeconds === undefined ? '…' : durationText(lagSeconds),
  ])
  const lines = tableLines(['zone', 'pages'.padStart(8), 'shipped'.padStart(10), 'lag'], cells, { width })
  return lines.map((line, index) => (index === 0 ? paint.dim(line) : line))
}

/** The same as plain lines, where the output is no terminal. */
function plainLines(routes: readonly RouteTally[]): Map<string, string> {
  const lines = rowsOf(routes).map(({ who, pages, delivered, lagSeconds }) => {
    const lag = lagSeconds === undefined ? '' : `, lag ${durationText(lagSeconds)}`
    return [
      who,
      `zone ${who}: ${counted(pages, 'page')}, ${counted(delivered, 'event')} shipped${lag}`,
    ] as const
  })
  return new Map(lines)
}

/** Summary of the whole run. */
function summaryLine(routes: readonly RouteTally[], seconds: number): string {
  const shipped = [...Map.groupBy(routes, ({ sink }) => sink)].map(([sink, own]) => {
    const told = plainSomeOf(
      [sumOf(own, 'lost'), 'dropped by the destination'],
      [sumOf(own, 'filtered'), 'filtered'],
      [sumOf(own, 'skipped'), 'skipped, too old for it'],
    )
    const rest = told.length === 0 ? '' : ` (${told.join('; ')})`
    return `${counted(sumOf(own, 'delivered'), 'event')} to ${sink}${rest}`
  })
  const zones = new Set(routes.map(({ zone }) => zone)).size
  const from = `${counted(sumOf(routes, 'pages'), 'page')} of ${counted(zones, 'zone')}`
  return `shipped ${shipped.length === 0 ? 'nothing' : shipped.join(' and ')}; read ${from} in ${seconds.toFixed(1)} s`
}

function rowsOf(routes: readonly RouteTally[]) {
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
