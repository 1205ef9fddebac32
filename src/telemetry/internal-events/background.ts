import { isFailure, messageOf } from '../../domain/failure.ts'
import type { Definitions } from '../definition.ts'
import type { Fields } from '../logger.ts'

function codeOf(error: unknown): string {
  return isFailure(error) ? error.code : 'bug'
}

/** Where a bug was thrown; one string a line, so that none can pretend to be a line of the log. */
function stackOf(error: unknown): Fields {
  if (!(error instanceof Error) || isFailure(error) || error.stack === undefined) return {}
  const lines = error.stack.split('\n').slice(1, 9)
  return { stack: lines.map((line) => line.trim()) }
}

/** What failed outside a stream's checkpoint; a stack in the line means a bug. */
export const backgroundInternalEvents: Definitions<
  'TickFailed' | 'PumpFailed' | 'UpkeepFailed' | 'QueueFailed'
> = {
  TickFailed: {
    level: 'error',
    meaning:
      'A turn of the schedule failed, so that it started nothing; the next turn comes as usual. With a stack it is a bug.',
    count(_internal_event, metrics) {
      metrics.count('tickFailures', {})
    },
    tell({ error }, voice) {
      const code = codeOf(error)
      voice.report({
        group: code,
        level: 'error',
        message: `a turn of the schedule failed: ${code}: ${messageOf(error)}`,
        about: `turns of the schedule that failed: ${code}`,
        fields: { code },
        details: stackOf(error),
        hasEnd: false,
      })
    },
  },
  PumpFailed: {
    level: 'error',
    meaning:
      'Work on a stream failed and its checkpoint could not tell: the store failed, or a bug (with a stack). The stream is tried again after a few seconds.',
    tell({ stream, error }, voice) {
      const code = codeOf(error)
      voice.report({
        group: code,
        level: 'error',
        zone: stream.zone,
        sink: stream.sink,
        message: `${voice.stream(stream)}: ${code}: ${messageOf(error)}`,
        about: `work on streams that failed: ${code}`,
        fields: { code },
        details: { ...stream, ...stackOf(error) },
        hasEnd: false,
      })
    },
  },
  UpkeepFailed: {
    level: 'error',
    meaning:
      'Work beside the schedule (heartbeat, housekeeping, reconciliation of the files with their committed lengths) failed; it is tried again. With a stack it is a bug.',
    tell({ task, error }, voice) {
      const code = codeOf(error)
      voice.report({
        group: `${task} ${code}`,
        level: 'error',
        message: `${task} failed: ${code}: ${messageOf(error)}`,
        about: `${task} failed: ${code}`,
        fields: { task, code },
        details: stackOf(error),
        hasEnd: false,
      })
    },
  },
  QueueFailed: {
    level: 'error',
    meaning:
      'The queue in Redis failed: mostly its connection, which is made again. Streams wait until Redis answers; their checkpoints tell where they go on. With a stack it is a bug.',
    tell({ error }, voice) {
      const code = codeOf(error)
      voice.report({
        group: code,
        level: 'error',
        message: `the queue failed: ${code}: ${messageOf(error)}`,
        about: `the queue failed: ${code}`,
        fields: { code },
        details: stackOf(error),
        hasEnd: false,
      })
    },
  },
}
