import { expect, it } from 'vitest'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { parseExposition, valueOf } from './metrics/exposition.ts'
import { loadCommitted, priority, setUp, streamOf } from './stage.ts'

const stream = streamOf(101)

it.each([
  ['info', 0],
  ['debug', 5],
] as const)(
  'work that goes well writes no line per page at info, and all lines at debug: %s',
  (level, lines) => {
    const { log, emit } = setUp(level)
    emit({ name: 'ApiAnswered', account: 'default', operation: 'event_logs', outcome: 'ok', seconds: 0.1 })
    emit({ name: 'PageFetched', stream, priority, events: 1, bytes: 2 })
    emit({ ...loadCommitted, stream })
    emit({ name: 'SinkAnswered', sink: 'siem', outcome: 'ok', seconds: 0.1, bytes: 3 })
    emit({ name: 'ScanCompleted', stream, kind: 'full', pages: 1, found: 1, seconds: 1 })
    expect(log.lines()).toHaveLength(lines)
    for (const line of log.lines()) expect(line['event']).toBeTypeOf('string')
  },
)

it('a bug or a closed log never throws and is counted on; a line that could not be logged is reported', async () => {
  const { clock, metrics, log, telemetry: heard } = setUp('trace')
  const write = () => {
    throw new Error('closed')
  }
  const logger = createLogger({ level: 'trace', format: 'json', stream: { write } })
  const telemetry = createTelemetry(logger, metrics, clock)
  const unknown = ['constructor', 'StreamFailed', 'Nothing'].map((name) => ({ name }))
  for (const bad of [null, undefined, {}, ...unknown])
    expect(() => telemetry.emit(bad as InternalEvent)).not.toThrow()
  telemetry.emit({ name: 'PageFetched', stream, priority, events: 4, bytes: 1 })
  const families = parseExposition(await metrics.text())
  expect(valueOf(families, 'shieldlog_events_fetched_total', { zone: '101' })).toBe(4)
  heard.emit({ name: 'GapFound' } as InternalEvent)
  expect(log.lines()).toMatchObject([
    { event: 'TelemetryFailed', msg: expect.stringContaining('GapFound') as string },
  ])
})
