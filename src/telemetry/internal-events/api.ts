import type { Definitions } from '../definition.ts'
import { durationPhrase, instantPhrase } from '../phrases.ts'

/** A larger offset would let a pump that used this host's clock read a day too early or too late. */
const skewWorthSayingMs = 30_000
const graceMs = 600_000

export const apiInternalEvents: Definitions<'ApiAnswered' | 'ApiThrottled' | 'ClockSkewMeasured'> = {
  ApiAnswered: {
    level: 'debug',
    meaning: 'One request to the API was answered or failed. Retries of one request are counted each.',
    count({ account, operation, outcome, seconds }, metrics) {
      metrics.count('apiRequests', { account, operation, outcome })
      metrics.count('apiRequestDuration', { operation }, seconds)
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
      'The API asked to come back later (429). All streams of the account wait; add nothing but patience, or lower the rate by api.maxRequestsPerSecond.',
    count({ account }, metrics) {
      metrics.count('apiThrottled', { account })
    },
    tell({ account, untilMs }, voice) {
      const askedMs = Math.max(0, untilMs - voice.nowMs)
      const waitMs = Number.isFinite(askedMs) ? askedMs : 0
      voice.report({
        group: account,
        level: 'warn',
        message: `account ${account}: the API asks to slow down; waiting ${durationPhrase(waitMs)}`,
        about: `account ${account}: slowed down by the API`,
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
      "This host's clock and the API's differ by more than 30 s. Nothing stops, days follow the API's clock; set this host's clock right.",
    count({ account, offsetMs }, metrics) {
      metrics.measure('clockSkew', { account }, offsetMs / 1000)
    },
    tell({ account, offsetMs }, voice) {
      // Written so that NaN neither ends nor begins a condition.
      if (Math.abs(offsetMs) <= skewWorthSayingMs) voice.conditions.end('ClockSkewMeasured', account)
      if (!(Math.abs(offsetMs) > skewWorthSayingMs)) return
      const direction = offsetMs > 0 ? 'behind' : 'ahead of'
      const skew = `this host's clock is ${durationPhrase(Math.abs(offsetMs))} ${direction} the API's`
      voice.report({
        group: account,
        level: 'warn',
        message: `account ${account}: ${skew}; days follow the API's clock, set this host's clock right`,
        about: `account ${account}: this host's clock is off`,
        fields: { account },
        details: { offsetSeconds: offsetMs / 1000 },
        hasEnd: true,
        fadesAfterMs: Number.POSITIVE_INFINITY,
        once: true,
      })
    },
  },
}
