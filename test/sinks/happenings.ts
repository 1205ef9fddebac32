import type { Happening } from '../../src/domain/happening.ts'
import type { Telemetry } from '../../src/ports/telemetry.ts'

/** Telemetry that keeps what it is told. */
export function keepHappenings(): { telemetry: Telemetry; happenings: Happening[] } {
  const happenings: Happening[] = []
  return { telemetry: { emit: (happening) => happenings.push(happening) }, happenings }
}

export function named<N extends Happening['name']>(
  happenings: readonly Happening[],
  name: N,
): Extract<Happening, { name: N }>[] {
  return happenings.filter((one): one is Extract<Happening, { name: N }> => one.name === name)
}
