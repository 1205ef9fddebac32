import { systemClock } from '../../src/clock.ts'
import { dayOf, startOf } from '../../src/domain/day.ts'
import type { Clock } from '../../src/ports/process.ts'

export interface Shift {
  /** How far ahead it is of this host's clock at the origin. */
  readonly offsetMs?: number
  /** How many times as fast it runs. */
  readonly rate?: number
  /** The instant of this host from which on it runs so fast; the same in two processes makes the same clock. */
  readonly originMs?: number
}

/** Today at this hour and so many times as fast, so that no midnight comes in between. */
export function todayAt(hour: number, rate: number): Required<Shift> {
  const originMs = systemClock.now()
  return { rate, originMs, offsetMs: startOf(dayOf(originMs)) + hour * 3_600_000 - originMs }
}

/** A clock whose wall clock a test moves. */
export interface SteppedClock extends Clock {
  step(ms: number): void
}

/** The time of this host, shifted and faster. */
export function createShiftedClock({
  offsetMs = 0,
  rate = 1,
  originMs = systemClock.now(),
}: Shift): SteppedClock {
  const monotonicStartMs = systemClock.monotonic()
  const shifted = (atMs: number) => originMs + offsetMs + (atMs - originMs) * rate
  let steppedMs = 0
  return {
    step: (ms) => void (steppedMs += ms),
    now: () => shifted(systemClock.now()) + steppedMs,
    steady: () => shifted(systemClock.steady()),
    monotonic: () => monotonicStartMs + (systemClock.monotonic() - monotonicStartMs) * rate,
    sleep: (ms, signal) => systemClock.sleep(ms / rate, signal),
  }
}

/** The same clock for the entry's command line. */
export function clockArguments({ offsetMs = 0, rate = 1, originMs }: Shift): string[] {
  const origin = originMs === undefined ? [] : ['--origin-ms', String(originMs)]
  return [`--offset-ms=${offsetMs}`, '--rate', String(rate), ...origin]
}
