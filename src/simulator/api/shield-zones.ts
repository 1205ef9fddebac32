import { jsonAnswer, validationProblem, type Answer } from '../answer.ts'
import type { Route } from '../route.ts'
import type { Settings } from '../options.ts'
import type { FieldFault, WireError } from '../wire.ts'

const usualPerPage = 10
const mostPerPage = 1000

/** Lists the zones of the account. Outside the interface that the user described: what is publicly known of it. */
export function shieldZonesAnswer(route: Route, { zones }: Settings): Answer {
  const page = numberOf(route, 'page', 1)
  const perPage = numberOf(route, 'perPage', usualPerPage)
  const faults: FieldFault[] = []
  if (!isBetween(page, 1, 2 ** 31 - 1)) faults.push({ field: 'page', message: 'must be greater than 0' })
  if (!isBetween(perPage, 1, mostPerPage))
    faults.push({ field: 'perPage', message: `must be between 1 and ${mostPerPage}` })
  if (faults.length > 0) return validationProblem(400, faults, route)
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

/** A logical error: the envelope of an empty list. */
export function failedZoneList(status: number, errorKey: string, message: string): Answer {
  const error = { success: false, message, errorKey } satisfies WireError
  return jsonAnswer(status, { data: null, page: null, error })
}

function numberOf({ query }: Route, name: string, absent: number): number {
  const text = query.get(name)
  return text === null ? absent : /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
}

function isBetween(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}
