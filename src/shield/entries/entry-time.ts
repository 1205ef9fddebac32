interface EntryTime {
  /** ISO 8601 UTC with as many fractional digits as are known: 3, 6 or 9. */
  readonly time: string
  readonly timeMs: number
}

/**
 * Parses the timestamp of an entry: seconds, milliseconds, micro- or nanoseconds since the epoch, told apart by
 * magnitude (the four ranges from 1973 to 5138 do not overlap), or ISO 8601 text with a zone. Undefined for anything
 * else. Digits beyond the precision of a JSON number are dropped: nanoseconds as a number keep 6 digits, as text 9.
 */
export function entryTimeOf(timestamp: unknown): EntryTime | undefined {
  if (typeof timestamp === 'number') return timeOfNumber(timestamp)
  if (typeof timestamp !== 'string') return undefined
  const text = timestamp.trim()
  if (/^\d{1,20}$/.test(text)) return timeOfDigits(text)
  if (/^\d{1,17}\.\d{1,12}$/.test(text)) return timeOfNumber(Number(text))
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/.test(text))
    return timeOfMs(Date.parse(text))
  return undefined
}

function timeOfNumber(value: number): EntryTime | undefined {
  if (!(value >= 1e8 && value < 1e20)) return undefined
  if (value < 1e11) return timeOfMs(Math.round(value * 1000))
  if (value < 1e14) return timeOfMs(Math.floor(value))
  return timeOfMicros(Math.floor(value < 1e17 ? value : value / 1000))
}

/** Text can hold more digits than a number. */
function timeOfDigits(digits: string): EntryTime | undefined {
  const value = BigInt(digits)
  if (value < 10n ** 14n || value >= 10n ** 20n) return timeOfNumber(Number(digits))
  const perMs = value < 10n ** 17n ? 1_000n : 1_000_000n
  const [wholeMs, rest] = [value / perMs, value % perMs]
  const whole = timeOfMs(Number(wholeMs))
  return whole && withDigits(whole, String(rest).padStart(String(perMs).length - 1, '0'))
}

function timeOfMicros(micros: number): EntryTime | undefined {
  const timeMs = Math.floor(micros / 1000)
  const whole = timeOfMs(timeMs)
  return whole && withDigits(whole, String(micros - timeMs * 1000).padStart(3, '0'))
}

function withDigits({ time, timeMs }: EntryTime, digits: string): EntryTime {
  return { time: `${time.slice(0, -1)}${digits}Z`, timeMs }
}

function timeOfMs(timeMs: number): EntryTime | undefined {
  return Number.isNaN(timeMs) ? undefined : { time: isoOf(timeMs), timeMs }
}

const latest = { minute: Number.NaN, text: '' }

/** Same as `toISOString` for whole ms, four times faster for consecutive entries of the same minute. */
function isoOf(timeMs: number): string {
  const minute = Math.floor(timeMs / 60_000)
  if (minute !== latest.minute) {
    latest.text = new Date(minute * 60_000).toISOString().slice(0, -'00.000Z'.length)
    latest.minute = minute
  }
  const digits = String(100_000 + timeMs - minute * 60_000)
  return `${latest.text}${digits.slice(1, 3)}.${digits.slice(3)}Z`
}
