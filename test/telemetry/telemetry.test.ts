import { describe, expect, it } from 'vitest'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { parseExposition, valueOf } from './metrics/exposition.ts'
import { failed, priority, setUp, streamOf } from './stage.ts'

describe('emit', () => {
  it('writes no line per page at info, and all lines at debug', () => {
    for (const level of ['info', 'debug'] as const) {
      const { log, emit } = setUp(level)
      emit({ name: 'ApiAnswered', account: 'default', operation: 'event_logs', outcome: 'ok', seconds: 0.1 })
      emit({ name: 'PageFetched', stream: streamOf(101), priority, events: 1, bytes: 2 })
      emit({
        name: 'LoadCommitted',
        stream: streamOf(101),
        priority,
        pages: 1,
        delivered: 1,
        duplicates: 0,
        late: 0,
        filtered: 0,
        deadLettered: 0,
        delaysSeconds: [1],
        commitSeconds: 0.1,
      })
      emit({ name: 'SinkAnswered', sink: 'siem', outcome: 'ok', seconds: 0.1, bytes: 3 })
      emit({ name: 'ScanCompleted', stream: streamOf(101), kind: 'full', pages: 1, found: 1, seconds: 1 })
      expect(log.lines()).toHaveLength(level === 'info' ? 0 : 5)
      for (const line of log.lines()) expect(line['event']).toBeTypeOf('string')
    }
  })

  it('never throws, and continues to count', async () => {
    const { clock, metrics } = setUp('trace')
    const stream = {
      write() {
        throw new Error('closed')
      },
    }
    const logger = createLogger({ level: 'trace', format: 'json', stream })
    const telemetry = createTelemetry({ logger, metrics, clock })
    for (const bad of [
      null,
      undefined,
      {},
      ...['constructor', 'StreamFailed', 'Nothing'].map((name) => ({ name })),
    ])
      expect(() => telemetry.emit(bad as InternalEvent)).not.toThrow()
    telemetry.emit({ name: 'PageFetched', stream: streamOf(101), priority, events: 4, bytes: 1 })
    const families = parseExposition(await metrics.text())
    expect(valueOf(families, 'shieldlog_events_fetched_total', { zone: '101' })).toBe(4)
  })

  it('reports a line that could not be logged', () => {
    const { log, telemetry } = setUp()
    telemetry.emit({ name: 'GapFound' } as InternalEvent)
    expect(
      log.lines().some(({ event, msg }) => event === 'TelemetryFailed' && /GapFound/.test(String(msg))),
    ).toBe(true)
  })

  it('escapes hostile text in a line', () => {
    const hostile = 'x\n{"level":"info","event":"Forged"}\u001b]0;owned\u0007\u009b2J\u202e'
    const { log, emit } = setUp('trace')
    emit(failed(101, { message: hostile }))
    emit({ name: 'FileReplaced', sink: 'archive', part: hostile, why: hostile })
    const error = Object.assign(new Error(hostile), { stack: `Error: ${hostile}\n at ${hostile}` })
    emit({ name: 'TickFailed', error })
    emit({ name: 'Warned', about: hostile, text: hostile })
    expect(log.lines().map(({ event }) => event)).toEqual([
      'StreamFailed',
      'FileReplaced',
      'TickFailed',
      'Warned',
    ])
    expect(log.text().replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
  })
})
