import { operations } from '../../domain/internal-event.ts'
import type { Definitions } from '../definition.ts'
import { durationPhrase, instantPhrase } from '../phrases.ts'

/** A larger offset would let a pump that used this host's clock read a day too early or too late. */
const skewWorthSayingMs = 30_000
const graceMs = 600_000

export const apiInternalEvents: Definitions<'ApiAnswered' | 'ApiThrottled' | 'ClockSkewMeasured'> = {
  ApiAnswered: {
    level: 'debug',
    meaning: 'One request to the API ended. Each retry counts as a request.',
    count({ account, operation: given, outcome, seconds }, metrics) {
      const operation = operations.find((each) => each === given) ?? 'other'
      metrics.count('api_requests_total', { account, operation, outcome })
      metrics.count('api_request_duration_seconds', { operation }, seconds)
    },
    tell({ account, operation, outcome, seconds }, voice) {
      if (outcome === 'ok') voice.conditions.end('ApiThrottled', account)
      voice.detail(() => [
        `account ${account}: ${operation} ${outcome} in ${Math.round(seconds * 1000)} ms`,
        { account, operation, outcome, seconds },
      ])
    },
  },
  ApiThrottled: {
    level: 'warn',
    meaning:
      'The API asked for a pause (429). All streams of the account wait as long as it asked. If it happens often, set api.maxRequestsPerSecond.',
    count({ account }, metrics) {
      metrics.count('api_throttled_total', { account })
    },
    tell({ account, untilMs }, voice) {
      const askedMs = Math.max(0, untilMs - voice.nowMs)
      const waitMs = Number.isFinite(askedMs) ? askedMs : 0
      voice.report({
        group: account,
        level: 'warn',
        message: `account ${account}: the API asks for a pause of ${durationPhrase(waitMs)} (429)`,
        about: `account ${account}: pauses that the API asked for`,
        fields: { account },
        details: { until: instantPhrase(untilMs) },
        hasEnd: true,
        holdsForMs: waitMs,
        fadesAfterMs: waitMs + graceMs,
      })
    },
  },
  ClockSkewMeasured: {
    level: 'warn',
    meaning:
      "The clock of this host differs from the API's by more than 30 s. shieldlog uses the API's clock for days; correct the clock of this host.",
    count({ account, offsetMs }, metrics) {
      metrics.measure('clock_skew_seconds', { account }, [{ labels: { account }, value: offsetMs / 1000 }])
    },
    tell({ account, offsetMs }, voice) {
      // Written so that NaN neither ends nor begins a condition.
      if (Math.abs(offsetMs) <= skewWorthSayingMs) voice.conditions.end('ClockSkewMeasured', account)
      if (!(Math.abs(offsetMs) > skewWorthSayingMs)) return
      const direction = offsetMs > 0 ? 'behind' : 'ahead of'
      const skew = `the clock of this host is ${durationPhrase(Math.abs(offsetMs))} ${direction} the API's`
      voice.report({
        group: account,
        level: 'warn',
        message: `account ${account}: ${skew}; shieldlog uses the API's clock for days; correct the clock of this host`,
        about: `account ${account}: wrong clock of this host`,
        fields: { account },
        details: { offsetSeconds: offsetMs / 1000 },
        hasEnd: true,
        fadesAfterMs: Number.POSITIVE_INFINITY,
        once: true,
      })
    },
  },
}
