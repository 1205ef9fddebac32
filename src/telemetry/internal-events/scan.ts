import { streamKey } from '../../domain/stream.ts'
import type { Definitions } from '../definition.ts'
import { countPhrase, durationPhrase } from '../phrases.ts'

export const scanInternalEvents: Definitions<
  'ScanCompleted' | 'ScanGuarded' | 'CursorExpired' | 'OrderingChanged'
> = {
  ScanCompleted: {
    level: 'debug',
    meaning: 'A scan reached its end.',
    tell({ stream, kind, pages, found, seconds }, voice) {
      voice.conditions.leave('ScanGuarded', streamKey(stream))
      voice.conditions.leave('StreamFailed', streamKey(stream))
      voice.detail(() => [
        `${voice.stream(stream)}: ${kind} scan of ${stream.day} found ${found} on ${countPhrase(pages, 'page')} in ${durationPhrase(seconds * 1000)}`,
        { ...stream, kind, pages, found, seconds },
      ])
    },
  },
  ScanGuarded: {
    level: 'warn',
    meaning:
      'The listing of the API did not end (cursors in a circle, empty pages without end, ...), so shieldlog stopped the scan. The stream waits and begins a new scan.',
    count({ guard }, metrics) {
      metrics.count('scans_guarded_total', { guard })
    },
    tell({ stream, guard, pages }, voice) {
      const account = voice.accountOf(stream.zone)
      voice.report({
        group: `${guard} ${account}`,
        level: 'warn',
        member: streamKey(stream),
        zone: stream.zone,
        sink: stream.sink,
        message: `${voice.stream(stream)}: stopped the scan of ${stream.day} after ${countPhrase(pages, 'page')} because the listing does not end: ${guard}`,
        about: `account ${account}: incomplete scans (${guard})`,
        fields: { guard, account },
        details: { ...stream, pages },
        hasEnd: true,
        // A guarded stream backs off up to an hour.
        fadesAfterMs: 2 * 3_600_000,
      })
    },
  },
  CursorExpired: {
    level: 'warn',
    meaning:
      'The API refused a cursor during a scan, so a full scan begins. A stored cursor that expires between scans is normal (level debug).',
    tell({ stream, stored, restarts }, voice) {
      if (stored) {
        voice.detail(() => [`${voice.stream(stream)}: a stored cursor has expired`, { ...stream, stored }])
        return
      }
      const account = voice.accountOf(stream.zone)
      voice.report({
        group: account,
        level: 'warn',
        zone: stream.zone,
        message: `${voice.stream(stream)}: a cursor expired during a scan; a full scan begins (restart ${restarts} in a row)`,
        about: `account ${account}: scans restarted by expired cursors`,
        fields: { account },
        details: { ...stream, restarts },
      })
    },
  },
  OrderingChanged: {
    level: 'info',
    meaning:
      'Scans confirmed where the listing shows new events, so polls read only there (level debug); or a poll missed events, so every poll reads the whole day again (level info).',
    tell({ stream, from, to, why }, voice) {
      if (to !== 'unknown') {
        voice.detail(() => [
          `${voice.stream(stream)}: confirmed the ordering ${to}: ${why}`,
          { ...stream, from, to, why },
        ])
        return
      }
      const account = voice.accountOf(stream.zone)
      voice.report({
        group: account,
        level: 'info',
        zone: stream.zone,
        message: `${voice.stream(stream)}: revoked the ordering ${from}, so polls read the whole day: ${why}`,
        about: `account ${account}: revoked orderings`,
        fields: { account },
        details: { ...stream, from, to, why },
      })
    },
  },
}
