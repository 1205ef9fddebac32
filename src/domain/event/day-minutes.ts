import { startOf, type Day } from '../day.ts'
import { untimedMinute, type MinuteCount } from './seen.ts'

const minutesOfDay = 1440

export type DayMinutes = ReturnType<typeof dayMinutes>

/** Events for each minute of a day, with an order-free hash of all in 16 hex digits. */
export function dayMinutes(counts: readonly MinuteCount[], day: Day) {
  const first = startOf(day) / 60_000
  const minutes = Array.from({ length: minutesOfDay }, () => 0)
  let [events, untimed, sum] = [0, 0, 0n]
  for (const { minute, count, hash } of counts) {
    events += count
    sum = BigInt.asUintN(64, sum + hash)
    const index = minute - first
    // An event's time may lie outside the day that lists it.
    if (minute === untimedMinute || index < 0 || index >= minutesOfDay) untimed += count
    else minutes[index] = count
  }
  return { events, minutes, untimed, hash: sum.toString(16).padStart(16, '0') }
}
