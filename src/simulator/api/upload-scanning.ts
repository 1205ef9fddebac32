import { createDice } from '../entries/hash.ts'
import { jsonAnswer, problem, type Answer } from '../answer.ts'
import { dayOf, daysFrom, shiftDay } from '../../domain/day.ts'
import type { Route } from '../route.ts'
import type { Settings } from '../options.ts'
import type { WireError } from '../wire.ts'

const pastDays = 28

export function uploadScanningAnswer(route: Route, settings: Settings): Answer {
  const { zone } = route
  if (zone === undefined) return problem(400, route.malformed ?? '', route)
  if (!settings.zones.includes(zone)) {
    return failedMetrics(202, 'not_found_or_unauthorised_access.shieldzone', 'Shield zone was not found.')
  }
  return jsonAnswer(200, { error: null, data: generated(zone, settings) })
}

/** A logical error: the envelope without data. */
export function failedMetrics(status: number, errorKey: string, message: string): Answer {
  return jsonAnswer(status, { error: { success: false, message, errorKey } satisfies WireError, data: null })
}

function generated(zone: number, settings: Settings) {
  const today = dayOf(settings.clock.now())
  const dice = createDice(settings.seed + zone)
  const days = daysFrom(shiftDay(today, 1 - pastDays), today).map((day) => {
    const filesScanned = dice.upTo(500)
    const blockedRequests = dice.upTo(1 + Math.floor(filesScanned / 20))
    const loggedRequests = dice.upTo(1 + Math.floor(filesScanned / 10))
    return [`${day}T00:00:00Z`, { loggedRequests, blockedRequests, filesScanned }] as const
  })
  const totals = { totalLoggedRequests: 0, totalBlockedRequests: 0, totalFilesScanned: 0 }
  for (const [, day] of days) {
    totals.totalLoggedRequests += day.loggedRequests
    totals.totalBlockedRequests += day.blockedRequests
    totals.totalFilesScanned += day.filesScanned
  }
  return { overviewPastTwentyEightDays: Object.fromEntries(days), ...totals }
}
