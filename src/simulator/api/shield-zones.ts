import { jsonAnswer, problem, type Answer } from '../answer.ts'
import type { Settings } from '../options.ts'
import type { Route } from '../route.ts'

/** What a parameter of the query is without a value, and its limits. */
const parameters = { page: [1, 2 ** 31 - 1], perPage: [10, 1000] } as const

/** Lists the zones of the account. Outside the interface that the user described: what is publicly known of it. */
export function shieldZonesAnswer(route: Route, { zones }: Settings): Answer {
  const numberOf = (name: keyof typeof parameters) =>
    Number(route.query.get(name)?.replace(/^\D.*/, '') ?? parameters[name][0])
  for (const name of ['page', 'perPage'] as const) {
    const [, most] = parameters[name]
    const value = numberOf(name)
    if (!(value >= 1 && value <= most)) return problem(400, `must be between 1 and ${most}`, route, name)
  }
  const [page, perPage] = [numberOf('page'), numberOf('perPage')]
  const totalPages = Math.ceil(zones.length / perPage)
  const place = {
    totalCount: zones.length,
    totalPages,
    currentPage: page,
    // Beyond the last page the service still counts up.
    nextPage: page === totalPages ? null : page + 1,
    pageSize: perPage,
  }
  return jsonAnswer(200, {
    data: zones.slice((page - 1) * perPage, page * perPage).map(zoneOf),
    page: zones.length === 0 ? null : place,
    error: null,
  })
}

function zoneOf(id: number) {
  return {
    shieldZoneId: id,
    pullZoneId: 500_000 + id,
    planType: id % 4,
    wafEnabled: true,
    deletedDateTime: null,
  }
}
