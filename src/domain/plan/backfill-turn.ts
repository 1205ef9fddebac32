const leastMs = 5_000
const leastPlaces = 20

/**
 * After how many ms a backfill has a turn although live streams of its account hold it all the time: it then starts one
 * page. At most every twentieth place of the account's rate (`everyMs` between two, 0: no rate).
 */
export function backfillTurnMs(everyMs: number): number {
  return Math.max(leastMs, leastPlaces * everyMs)
}
