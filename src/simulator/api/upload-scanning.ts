import { createDice } from '../entries/hash.ts'
import { goodError } from './event-logs.ts'
import { jsonAnswer, problem, type Answer } from '../answer.ts'
import { dayOf, daysFrom, shiftDay } from '../../domain/day.ts'
import type { Route } from '../route.ts'
import type { Settings } from '../options.ts'
import type { UploadScanningData, WireError } from '../wire.ts'

export interface UploadScanning {
  answer(route: Route): Answer
}

const pastDays = 28

export function createUploadScanning(settings: () => Settings): UploadScanning {
  return {
    answer: (route) => {
      const { zone } = route
      if (zone === undefined) return problem(400, route.malformed ?? '', route)
      if (!settings().zones.includes(zone)) {
        return failedMetrics(202, 'not_found_or_unauthorised_access.shieldzone', 'Shield zone was not found.')
      }
      const { errorResponse } = goodError(settings().emptyError)
      const data = generated(zone, settings())
      return jsonAnswer(200, errorResponse === undefined ? { data } : { error: errorResponse, data })
    },
  }
}

/** A logical error: the envelope without data. */
export function failedMetrics(status: number, errorKey: string, message: string): Answer {
  return jsonAnswer(status, { error: { success: false, message, errorKey } satisfies WireError, data: null })
}

function generated(zone: number, settings: Settings): UploadScanningData {
  const today = dayOf(settings.clock.now() + settings.clockSkewMs)
  const dice = createDice(settings.seed + zone)
  const days = daysFrom(shiftDay(today, 1 - pastDays), today).map((day) => {
    const filesScanned = dice.upTo(500)
    const blockedRequests = dice.upTo(1 + Math.floor(filesScanned / 20))
    const loggedRequests = dice.upTo(1 + Math.floor(filesScanned / 10))
    return [`${day}T00:00:00Z`, { loggedRequests, blockedRequests, filesScanned }] as const
  })
  const sum = (pick: (day: (typeof days)[number][1]) => number): number => {
    let total = 0
    for (const [, day] of days) total += pick(day)
    return total
  }
  return {
    overviewPastTwentyEightDays: Object.fromEntries(days),
    totalLoggedRequests: sum((day) => day.loggedRequests),
    totalBlockedRequests: sum((day) => day.blockedRequests),
    totalFilesScanned: sum((day) => day.filesScanned),
  }
}
