import type { Failure, FailureCode } from '../../domain/failure.ts'
import { withoutSink } from '../../domain/failure.ts'
import type { Stream } from '../../domain/stream.ts'
import { streamKey } from '../../domain/stream.ts'
import type { Definitions, Voice } from '../definition.ts'
import type { Fields, LineLevel } from '../logger.ts'
import { countPhrase, durationPhrase, instantPhrase, reasonPhrases } from '../phrases.ts'

type Side = 'account' | 'sink' | 'store' | 'either'

/** The side that causes a failure, shared by many streams. A network error may be on either side. */
const sides: Readonly<Record<FailureCode, Side>> = {
  window_closed: 'account',
  cursor_expired: 'account',
  scan_guarded: 'account',
  unauthorised: 'account',
  zone_gone: 'account',
  page_too_large: 'account',
  bad_body: 'either',
  rejected: 'either',
  throttled: 'either',
  timeout: 'either',
  network: 'either',
  tls: 'either',
  server_error: 'either',
  sink_refuses: 'sink',
  sink_gone: 'sink',
  disk_full: 'sink',
  unwritable: 'sink',
  store_unavailable: 'store',
  store_refuses: 'store',
  no_store: 'store',
  fence_lost: 'store',
  held: 'store',
  index_dropped: 'store',
  dead_letters_full: 'sink',
  crashed: 'either',
  gave_way: 'account',
  cancelled: 'store',
}

/** How long after its next try a stream may be silent before another worker is assumed to have it. */
const graceMs = 900_000

interface Origin {
  readonly group: string
  readonly phrase: string
  readonly fields: Fields
}

function originOf(stream: Stream, code: FailureCode, account: string): Origin {
  const { sink } = stream
  const side = sides[code]
  if (side === 'account')
    return { group: `account ${account}`, phrase: `account ${account}`, fields: { account } }
  if (side === 'sink') return { group: `sink ${sink}`, phrase: `sink ${sink}`, fields: { sink } }
  if (side === 'store') return { group: 'store', phrase: 'store', fields: {} }
  return {
    group: `account ${account} sink ${sink}`,
    phrase: `account ${account} → ${sink}`,
    fields: { account, sink },
  }
}

/** The system's error code of the cause, such as ECONNREFUSED; its message may hold anything. */
function causeOf(failure: Failure): string | undefined {
  const { cause } = failure
  if (!(cause instanceof Error) || !('code' in cause)) return undefined
  return typeof cause.code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(cause.code) ? cause.code : undefined
}

function levelOf({ kind, code }: Failure): LineLevel {
  if (kind === 'stop' || kind === 'refuse') return 'error'
  // Waiting for the predecessor is normal in a takeover.
  return code === 'held' ? 'info' : 'warn'
}

/** True for a failure that another internal event reports, or that is no error of this process. */
function isToldElsewhere({ kind, code }: Failure, account: string, voice: Voice): boolean {
  if (kind === 'cancelled' || code === 'scan_guarded') return true
  return code === 'throttled' && voice.conditions.stands('ApiThrottled', account)
}

export const failureInternalEvents: Definitions<'StreamFailed' | 'StreamRecovered'> = {
  StreamFailed: {
    level: 'error',
    meaning:
      'A pump failed. The checkpoint keeps its position, and the stream is tried again. Level warn: it may recover without help; level error: a person must act. Streams that fail for the same reason share one line.',
    count({ stream: { sink }, failure }, metrics) {
      metrics.count('stream_failures_total', { sink, code: failure.code })
    },
    tell({ stream, priority, failure, retryAtMs, count }, voice) {
      const { code, kind, details } = failure
      const account = voice.accountOf(stream.zone)
      const member = streamKey(stream)
      const reason = withoutSink(failure.message, stream.sink)
      const waitMs = Math.max(0, retryAtMs - voice.nowMs)
      const next = Number.isFinite(waitMs) ? `; next try in ${durationPhrase(waitMs)}` : ''
      if (isToldElsewhere(failure, account, voice)) {
        voice.conditions.leave('StreamFailed', member)
        voice.detail(() => [`${voice.stream(stream)}: ${reason}${next}`, { ...stream, code, count }])
        return
      }
      const origin = originOf(stream, code, account)
      voice.report({
        group: `${code} ${origin.group}`,
        level: levelOf(failure),
        member,
        zone: stream.zone,
        sink: stream.sink,
        message: `${voice.stream(stream)}: ${reason}${next}`,
        about: `${origin.phrase}: ${reasonPhrases[code]}`,
        fields: { code, kind, ...origin.fields },
        details: {
          ...stream,
          priority,
          retryAt: instantPhrase(retryAtMs),
          failures: count,
          cause: causeOf(failure),
          errorKey: details.errorKey,
          requestId: details.requestId,
        },
        hasEnd: true,
        fadesAfterMs: Number.isFinite(waitMs) ? waitMs + graceMs : graceMs,
      })
    },
  },
  StreamRecovered: {
    level: 'debug',
    meaning:
      'A pump succeeded after failures. When the last stream has recovered, a line reports the end of the failure.',
    tell({ stream, failures, seconds }, voice) {
      voice.conditions.leave('StreamFailed', streamKey(stream))
      voice.detail(() => [
        `${voice.stream(stream)}: recovered after ${countPhrase(failures, 'failure')} in ${durationPhrase(seconds * 1000)}`,
        { ...stream, failures, seconds },
      ])
    },
  },
}
