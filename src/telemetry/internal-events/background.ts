import { isFailure, messageOf } from '../../domain/failure.ts'
import type { Report } from '../condition.ts'
import type { Definitions, Voice } from '../definition.ts'
import type { Fields } from '../logger.ts'
import { reasonPhrases } from '../phrases.ts'

function codeOf(error: unknown): string {
  return isFailure(error) ? error.code : 'bug'
}

function reasonOf(error: unknown): string {
  return isFailure(error) ? reasonPhrases[error.code] : 'a bug'
}

/** The stack of a bug; one string a line, so that no part of it can look like a log line. */
function stackOf(error: unknown): Fields {
  if (!(error instanceof Error) || isFailure(error) || error.stack === undefined) return {}
  const lines = error.stack.split('\n').slice(1, 9)
  return { stack: lines.map((line) => line.trim()) }
}

/** Reports of one code are one condition. */
function tellError(
  voice: Voice,
  error: unknown,
  what: string,
  more: (code: string) => Partial<Omit<Report, 'event'>> = () => ({}),
): void {
  const code = codeOf(error)
  voice.report({
    group: code,
    level: 'error',
    message: `${what}: ${isFailure(error) ? '' : 'a bug: '}${messageOf(error)}`,
    about: `${what}: ${reasonOf(error)}`,
    fields: { code },
    details: stackOf(error),
    ...more(code),
  })
}

/** Failures outside a stream's checkpoint; a stack in the line means a bug. */
export const backgroundInternalEvents: Definitions<
  'TickFailed' | 'PumpFailed' | 'UpkeepFailed' | 'QueueFailed' | 'QueueRecovered'
> = {
  TickFailed: {
    level: 'error',
    meaning:
      'The scheduler could not read which streams are due. It tries again after a second. A line with a stack is a bug: please report it.',
    count(_internal_event, metrics) {
      metrics.count('tick_failures_total', {})
    },
    tell({ error }, voice) {
      tellError(voice, error, 'cannot look for streams that are due')
    },
  },
  PumpFailed: {
    level: 'error',
    meaning:
      'Work on a stream failed, and the store could not record the failure. The stream is tried again after a few seconds. A line with a stack is a bug: please report it.',
    tell({ stream, error }, voice) {
      tellError(voice, error, voice.stream(stream), () => ({
        zone: stream.zone,
        sink: stream.sink,
        about: `failed work on streams: ${reasonOf(error)}`,
        details: { ...stream, ...stackOf(error) },
      }))
    },
  },
  UpkeepFailed: {
    level: 'error',
    meaning:
      'A background task (heartbeat, housekeeping, reconciliation of the files with their committed lengths, figures for metrics, discovery of zones) failed. It is tried again. A line with a stack is a bug: please report it.',
    tell({ task, error }, voice) {
      tellError(voice, error, `${task} failed`, (code) => ({
        group: `${task} ${code}`,
        fields: { task, code },
      }))
    },
  },
  QueueFailed: {
    level: 'error',
    meaning:
      'The queue in Redis failed, mostly its connection, which is then opened again. Streams continue from their checkpoints when Redis answers. A line with a stack is a bug: please report it.',
    tell({ error }, voice) {
      // A bug has no end.
      tellError(voice, error, 'the queue stands still', () => ({ hasEnd: isFailure(error) }))
    },
  },
  QueueRecovered: {
    level: 'info',
    meaning:
      'Redis answers again, and the queue has had no error for ten seconds: a line reports the end of each QueueFailed.',
    tell(_internal_event, voice) {
      voice.conditions.end('QueueFailed')
    },
  },
}
