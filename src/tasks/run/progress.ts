import { systemClock } from '../../clock.ts'
import type { Daemon } from '../../process/daemon.ts'
import type { Config } from '../../config/schema.ts'
import type { InternalEvent } from '../../domain/internal-event.ts'
import type { Observation } from '../../domain/observation.ts'
import { routeKey, type ZoneAndSink } from '../../domain/stream.ts'
import { durationText } from '../../domain/text/time.ts'
import type { Io } from '../../terminal/io.ts'
import { createDisplay } from '../../terminal/live.ts'
import { table, paintFor, plainSomeOf, type Column } from '../../terminal/text.ts'
import { counted, sumOf, zoneText } from '../../domain/text/terminal-text.ts'

/** Each time the lags are read from the store. */
const redrawMs = 1_000

/** Shows pages, events and lag per zone while a command ships, and a summary at its end. */
export function createProgress(config: Config, io: Io) {
  const routes = new Map<string, Route>()
  const names = new Map(config.zones.map(({ id, name }) => [id, name]))
  const display = createDisplay(config, io, systemClock, redrawMs)
  let shownPages = -1

  /** With `zones: all`, and after a reload, zones are shipped that the configuration at the start does not name. */
  function routeOf({ zone, sink }: ZoneAndSink): Route {
    const key = routeKey(zone, sink)
    const before = routes.get(key)
    if (before !== undefined) return before
    const text = zoneText(zone, names.get(zone) ?? '')
    const who = config.sinks.length > 1 ? `${text} → ${sink}` : text
    const none = { pages: 0, delivered: 0, lost: 0, filtered: 0, skipped: 0, lagSeconds: undefined }
    const route: Route = { zone, sink, who, ...none }
    routes.set(key, route)
    return route
  }
  // Those of the configuration are shown in its order.
  for (const zone of names.keys()) for (const { name: sink } of config.sinks) routeOf({ zone, sink })

  function show(): void {
    const rows = rowsOf([...routes.values()])
    display.draw(table(rows, columns, { ...paintFor(io.stderr), width: display.width() + 1 }))
    const pages = sumOf(rows, 'pages')
    // A lag alone is no progress.
    if (pages !== shownPages) display.print(new Map(rows.map((row) => [row.who, plainLine(row)])))
    shownPages = pages
  }

  /** The lag is unknown before the state is open, and while the store does not answer: the log has the reason. */
  async function learnLags(daemon: Daemon): Promise<void> {
    const unknown = () => undefined
    const observed: Observation | undefined = await daemon.engine()?.observe().catch(unknown)
    for (const { summary } of observed?.routes ?? []) {
      const route = routes.get(routeKey(summary.zone, summary.sink))
      if (route !== undefined) route.lagSeconds = summary.lagSeconds
    }
  }

  return {
    log: display.log,
    say: display.say,
    watch(internalEvent: InternalEvent): void {
      if (internalEvent.name === 'EventsSkipped') routeOf(internalEvent.stream).skipped += internalEvent.count
      if (internalEvent.name === 'PageFetched') routeOf(internalEvent.stream).pages++
      if (internalEvent.name !== 'LoadCommitted') return
      const route = routeOf(internalEvent.stream)
      route.delivered += internalEvent.delivered
      route.filtered += internalEvent.filtered
      route.lost += internalEvent.lost ?? 0
    },
    /** Updates the display until the signal aborts. Never rejects. */
    async follow(daemon: Daemon, signal: AbortSignal): Promise<void> {
      if (display.mode === 'quiet') return
      do {
        await systemClock.sleep(display.pauseMs, signal).catch(() => undefined)
        await learnLags(daemon)
        show()
      } while (!signal.aborted)
    },
    /** Prints nothing after this. */
    end(): void {
      show()
      display.keep()
      display.say(summaryLine([...routes.values()], display.seconds()))
    },
  }
}

/** What was shipped of one zone to one sink since the start. */
interface Route extends ZoneAndSink {
  /** For people: `101 (shop) → siem`, without the sink where there is one. */
  readonly who: string
  pages: number
  delivered: number
  /** Of those delivered, events that the destination says it dropped. */
  lost: number
  /** Left out by `where` and `sample` of the sink. */
  filtered: number
  /** Too old for the destination. */
  skipped: number
  /** Undefined until the store was read. */
  lagSeconds: number | undefined
}

type Row = Pick<Route, 'who' | 'pages' | 'delivered' | 'lagSeconds'>

/** More rows would not fit on a small terminal. */
const mostRows = 15

function rowsOf(routes: readonly Route[]): readonly Row[] {
  if (routes.length <= mostRows) return routes
  const left = routes.slice(mostRows - 1)
  const lags = left.flatMap(({ lagSeconds }) => lagSeconds ?? [])
  const who = `… and ${left.length} more`
  const sums = { pages: sumOf(left, 'pages'), delivered: sumOf(left, 'delivered') }
  return [...routes.slice(0, mostRows - 1), { who, ...sums, lagSeconds: lags.toSorted((a, b) => b - a)[0] }]
}

/** The table that is redrawn in place. */
const columns: readonly Column<Row>[] = [
  ['zone', ({ who }) => who],
  ['   pages', ({ pages }) => String(pages), { align: 'right' }],
  ['   shipped', ({ delivered }) => String(delivered), { align: 'right' }],
  ['lag', ({ lagSeconds }) => (lagSeconds === undefined ? '…' : durationText(lagSeconds)), { spare: 0 }],
]

/** The same where the output is no terminal. */
function plainLine({ who, pages, delivered, lagSeconds }: Row): string {
  const lag = lagSeconds === undefined ? '' : `, lag ${durationText(lagSeconds)}`
  return `zone ${who}: ${counted(pages, 'page')}, ${counted(delivered, 'event')} shipped${lag}`
}

function summaryLine(routes: readonly Route[], seconds: number): string {
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
