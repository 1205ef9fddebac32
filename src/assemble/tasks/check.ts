import type { Config } from '../../config/schema/schema.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { checkAll, type Checked, type ZoneProblem } from '../../maintenance/read/check.ts'
import { createGround, zonesOf } from '../ground.ts'
import { probeStore } from '../state.ts'
import { createReading } from '../reading.ts'
import { openSink } from '../shipping.ts'

export type { Checked, ZoneProblem }

/** Tests whether a run would work with API, sinks and state. Leaves nothing behind. */
export async function checkConfig(config: Config, signal: AbortSignal): Promise<Checked> {
  const ground = createGround(config, { logLevel: 'silent' })
  const { clock } = ground
  const reading = createReading(config, ground)
  const sinks = config.sinks.map((sink) => openSink(sink, ground))
  const checkState = () => probeStore(config, clock)
  try {
    const { source } = reading
    const today = todayOf(clock.now())
    return await checkAll({ source, zones: zonesOf(config), today, sinks, checkState }, signal)
  } finally {
    await Promise.all(sinks.map((sink) => sink.close()))
    await reading.close()
  }
}
