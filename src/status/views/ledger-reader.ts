import { startOf, type Day } from '../../domain/day.ts'
import { untimedMinute, type MinuteCount } from '../../domain/event/seen.ts'
import type { DayView } from '../../domain/status/status-views.ts'
import { streamKey, type Stream } from '../../domain/stream.ts'
import type { Ledger } from '../../ports/store.ts'

type LedgerView = DayView['ledger']

const dayMinutes = 1440
/** About 12 KiB each. */
const mostKept = 16

/**
 * Reads the ledger of one day after the other, so that many clients cost the store no more than one, and keeps the
 * latest days until their next commit.
 */
export function createLedgerReader(
  minutes: Ledger['minutes'],
): (stream: Stream, commit: number) => Promise<LedgerView> {
  const kept = new Map<string, Promise<LedgerView>>()
  let last: Promise<unknown> = Promise.resolve()

  return (stream, commit) => {
    const key = `${streamKey(stream)} ${commit}`
    const known = kept.get(key)
    if (known !== undefined) return known
    const read = last.then(async () => ledgerView(await minutes(stream), stream.day))
    kept.set(key, read)
    last = read.catch(() => kept.delete(key))
    for (const old of kept.keys()) if (kept.size > mostKept) kept.delete(old)
    return read
  }
}

export function ledgerView(counts: readonly MinuteCount[], day: Day): DayView['ledger'] {
  const first = startOf(day) / 60_000
  const minutes = Array.from({ length: dayMinutes }, () => 0)
  let [events, untimed, sum] = [0, 0, 0n]
  for (const { minute, count, hash } of counts) {
    events += count
    sum = BigInt.asUintN(64, sum + hash)
    const index = minute - first
    // An event's time may lie outside the day that lists it.
    if (minute === untimedMinute || index < 0 || index >= dayMinutes) untimed += count
    else minutes[index] = count
  }
  return { events, minutes, untimed, hash: sum.toString(16).padStart(16, '0') }
}
