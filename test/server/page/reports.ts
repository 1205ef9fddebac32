import type { StreamAudit } from '../../../src/domain/audit-report.ts'
import type { ReportDay, ReportView } from '../../../src/domain/status/status-views.ts'
import type { Day } from '../../../src/domain/day.ts'
import { viewsOf, type World } from './world.ts'

interface Route {
  readonly zone: number
  readonly sink: string
  readonly day: string
}

/** A report of these days of a world; in the first of them events are missing and extra. */
export async function reportView(world: World, routes: readonly Route[]): Promise<ReportView> {
  const { views } = viewsOf(world)
  const days: ReportDay[] = []
  for (const [index, route] of routes.entries()) {
    const view = (await views.day(route))!
    const [missing, extra] = index === 0 ? [2, 1] : [0, 0]
    const listed = view.ledger.events + missing - extra
    const minute = (at: string, own: Partial<StreamAudit['minutes'][number]>) => ({
      minute: `${view.day}T${at}:00.000Z`,
      found: 12,
      ledger: 10,
      missing: 0,
      extra: 0,
      notYetDue: 0,
      ...own,
    })
    days.push({
      view,
      result: { text: missing > 0 ? '2 missing, 1 extra' : 'ok', tone: missing > 0 ? 'bad' : 'good' },
      listed: { ...view.ledger, events: listed, at: view.at },
      stream: {
        zone: view.zone,
        name: view.name,
        day: view.day as Day,
        sink: view.sink,
        isEqual: missing === 0,
        listed,
        ledger: view.ledger.events,
        missing,
        extra,
        notYetDue: 0,
        deadLetters: 0,
        dropped: 0,
        filtered: 0,
        lost: 0,
        skipped: 0,
        isByCounts: false,
        minutes: missing === 0 ? [] : [minute('13:02', { missing: 2 }), minute('17:40', { extra: 1 })],
        missingEvents:
          missing === 0 ? [] : [{ id: 'e1f0<b>', time: `${view.day}T13:02:11.000Z` }, { id: 'e1f1' }],
        parts: [],
      },
    })
  }
  return {
    beganAt: '2026-11-20T14:01:00.000Z',
    endedAt: '2026-11-20T14:03:12.000Z',
    api: 'https://api.bunny.net',
    version: '1.0.0',
    host: 'siem-1',
    configuration: '/etc/shieldlog/shieldlog.yaml',
    level: 'bad',
    headline: `2 events missing, 1 event extra, on 1 of ${days.length} days of a zone and sink that were compared.`,
    scope: '2026-11-18 to 2026-11-20: 4 zones, 2 sinks; the API lists 502,113 events.',
    isDeep: false,
    failures: [],
    rows: days.map(({ view, stream, result }) => ({
      zone: view.zone,
      name: view.name,
      sink: view.sink,
      day: view.day,
      result,
      counts: stream!,
    })),
    days,
  }
}
