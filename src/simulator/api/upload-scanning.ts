import { dayOf, daysFrom, shiftDay } from '../../domain/day.ts'
import { jsonAnswer, type Answer } from '../answer.ts'
import { createDice } from '../entries/hash.ts'
import type { Settings } from '../options.ts'
import type { Route } from '../route.ts'

const pastDays = 28

export function uploadScanningAnswer({ zone = 0 }: Route, { clock, seed }: Settings): Answer {
  const today = dayOf(clock.now())
  const dice = createDice(seed + zone)
  const data = { totalLoggedRequests: 0, totalBlockedRequests: 0, totalFilesScanned: 0 }
  const days = daysFrom(shiftDay(today, 1 - pastDays), today).map((day) => {
    const filesScanned = dice.upTo(500)
    const blockedRequests = dice.upTo(1 + Math.floor(filesScanned / 20))
    const loggedRequests = dice.upTo(1 + Math.floor(filesScanned / 10))
    data.totalLoggedRequests += loggedRequests
    data.totalBlockedRequests += blockedRequests
    data.totalFilesScanned += filesScanned
    return [`${day}T00:00:00Z`, { loggedRequests, blockedRequests, filesScanned }] as const
  })
  return jsonAnswer(200, {
    error: null,
    data: { overviewPastTwentyEightDays: Object.fromEntries(days), ...data },
  })
}
