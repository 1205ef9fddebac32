import { systemClock } from '../../../src/clock.ts'
import type { Day } from '../../../src/domain/day.ts'
import { isFailure } from '../../../src/domain/failure.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import { createStdoutSink } from '../../../src/sinks/stdout/sink.ts'
import { buildEvents } from '../../formats/events.ts'

/** Ships 100 events to its own stdout and says on stderr how that went. */
const never = new AbortController().signal
const sink = createStdoutSink(
  { name: 'out' },
  { format: createNativeFormat(), output: process.stdout, clock: systemClock },
)
const stream = await sink.open({ zone: 101, day: '2026-11-20' as Day, sink: 'out' }, {}, never)
try {
  await stream.deliver(buildEvents(100), never)
  process.stderr.write('delivered\n')
} catch (error) {
  process.stderr.write(
    isFailure(error) ? `${error.kind} ${error.code}: ${error.message}\n` : `bug: ${String(error)}\n`,
  )
}
