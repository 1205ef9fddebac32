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
      'The listing of the API made no sense (cursors in a circle, empty pages without end, ...), so the scan ended before its end. The stream backs off and starts over.',
    count({ guard }, metrics) {
      metrics.count('scansGuarded', { guard })
    },
    tell({ stream, guard, pages }, voice) {
      const account = voice.accountOf(stream.zone)
      voice.report({
        group: `${guard} ${account}`,
        level: 'warn',
        member: streamKey(stream),
        zone: stream.zone,
        sink: stream.sink,
        message: `${voice.stream(stream)}: scan of ${stream.day} ended incomplete after ${countPhrase(pages, 'page')}: ${guard}`,
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
      'A cursor was no longer taken in the middle of a scan, which starts over as a full one. A stored cursor that expired between scans is no trouble (debug).',
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
        message: `${voice.stream(stream)}: a cursor expired in the middle of a scan; it starts over (restart ${restarts} in a row)`,
        about: `account ${account}: scans restarted by expired cursors`,
        fields: { account },
        details: { ...stream, restarts },
      })
    },
  },
  OrderingChanged: {
    level: 'info',
    meaning:
      'A listing has proved where it shows new events (debug), so that polls may read only there; or it broke that promise, and every poll reads the whole day again.',
    tell({ stream, from, to, why }, voice) {
      if (to !== 'unknown') {
        voice.detail(() => [
          `${voice.stream(stream)}: confirmed as ${to}: ${why}`,
          { ...stream, from, to, why },
        ])
        return
      }
      const account = voice.accountOf(stream.zone)
      voice.report({
        group: account,
        level: 'info',
        zone: stream.zone,
        message: `${voice.stream(stream)}: no longer confirmed as ${from}, polls read the whole day: ${why}`,
        about: `account ${account}: listings that are no longer confirmed`,
        fields: { account },
        details: { ...stream, from, to, why },
      })
    },
  },
}
