import type { Config, SinkConfig } from '../../config/schema/schema.ts'
import { dayOf, firstReadable, type Day } from '../../domain/day.ts'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { Refusal } from '../../domain/event/delivery.ts'
import type { Zone } from '../../domain/stream.ts'
import { formats, type FormatName } from '../../formats/registry.ts'
import { fetchDay } from '../../maintenance/read/fetch-day.ts'
import { explainingZones } from '../discovery/explain-zones.ts'
import { createQuietRuntime } from '../quiet-runtime.ts'
import { createReading } from '../reading.ts'
import { openSink } from '../shipping.ts'

export type { FormatName }
/** Which events a sink gets, and in which form. */
export type FetchForm = Pick<SinkConfig, 'format' | 'include' | 'where' | 'sample'>
export const formatNames = Object.keys(formats) as readonly FormatName[]

export function formOf({ format, include, where, sample }: SinkConfig): FetchForm {
  return { format, include, where, sample }
}

export interface FetchRequest {
  readonly zones: readonly Zone[]
  readonly day: Day
  readonly form: FetchForm
  readonly limit: number
}

/** Prints events of a day to stdout, without state. Returns those without a form in the format. Throws Failure. */
export async function fetchToStdout(
  config: Config,
  { zones, day, form, limit }: FetchRequest,
  signal: AbortSignal,
): Promise<readonly Refusal[]> {
  const runtime = createQuietRuntime()
  const { clock, apiClock } = runtime
  const reading = createReading(config, runtime)
  const sink = openSink({ type: 'stdout', name: 'stdout', ...form }, runtime)
  try {
    const open = await sink.open({ zone: zones[0]?.id ?? 0, day, sink: sink.name }, {}, signal)
    const deps = {
      source: explainingZones(reading.source, config, runtime),
      clock,
      apiClock,
      deliver: open.deliver.bind(open),
      ...(sink.wants !== undefined && { wants: sink.wants }),
    }
    return await fetchDay({ zones, day, limit }, deps, signal)
  } catch (error) {
    if (!isFailure(error, 'window_closed')) throw error
    throw explainWindow(error, day, error.details.serverDate ?? clock.now(), config.poll.readableDays)
  } finally {
    await sink.close()
    await reading.close()
  }
}

function explainWindow(error: Failure, day: Day, nowMs: number, readableDays: number): Failure {
  const today = dayOf(nowMs)
  const window = `the API answers for ${firstReadable(today, readableDays)} to ${today} (UTC)`
  return new Failure('refuse', 'window_closed', `${day} cannot be read: ${window}. ${error.message}`, {
    ...error.details,
    cause: error,
  })
}
