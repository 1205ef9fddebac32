import { goodError } from './event-logs.ts'
import { jsonAnswer, validationProblem, type Answer } from '../answer.ts'
import type { Route } from '../route.ts'
import type { Settings } from '../options.ts'
import type { FieldFault, ShieldZone, WireError } from '../wire.ts'

export interface ShieldZones {
  answer(route: Route): Answer
}

const usualPerPage = 10
const mostPerPage = 1000

/** Lists the zones of the account. Outside the interface that the user described: what is publicly known of it. */
export function createShieldZones(settings: () => Settings): ShieldZones {
  return {
    answer: (route) => {
      const page = numberOf(route, 'page', 1)
      const perPage = numberOf(route, 'perPage', usualPerPage)
      const faults: FieldFault[] = []
      if (!isBetween(page, 1, 2 ** 31 - 1)) faults.push({ field: 'page', message: 'must be greater than 0' })
      if (!isBetween(perPage, 1, mostPerPage))
        faults.push({ field: 'perPage', message: `must be between 1 and ${mostPerPage}` })
      if (faults.length > 0) return validationProblem(400, faults, route)
      return list(settings(), page, perPage)
    },
  }
}

function list(settings: Settings, page: number, perPage: number): Answer {
  const { zones, unlistedZones } = settings
  const listed = zones.filter((zone) => !unlistedZones.includes(zone))
  const totalPages = Math.ceil(listed.length / perPage)
  const { errorResponse } = goodError(settings.emptyError)
  return jsonAnswer(200, {
    data: listed.slice((page - 1) * perPage, page * perPage).map(zoneOf),
    page:
      listed.length === 0
        ? null
        : {
            totalCount: listed.length,
            totalPages,
            currentPage: page,
            // Beyond the last page the service still counts up.
            nextPage: page === totalPages ? null : page + 1,
            pageSize: perPage,
          },
    ...(errorResponse === undefined ? {} : { error: errorResponse }),
  })
}

function zoneOf(id: number): ShieldZone {
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
