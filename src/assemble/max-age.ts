import type { Config, SinkConfig } from '../config/schema/schema.ts'

/** The age in hours from which on a destination takes no event, by the name of its sink. */
export function maxAgeHoursIn({ sinks }: Pick<Config, 'sinks'>): (sink: string) => number | undefined {
  const hours = new Map(sinks.map((sink) => [sink.name, maxAgeHoursOf(sink)]))
  return (sink) => hours.get(sink)
}

function maxAgeHoursOf(sink: SinkConfig): number | undefined {
  const batch: object = 'batch' in sink ? sink.batch : {}
  // Only presets whose destination has such a limit have the setting.
  const hours: unknown = Reflect.get(batch, 'maxAgeHours')
  return typeof hours === 'number' ? hours : undefined
}
