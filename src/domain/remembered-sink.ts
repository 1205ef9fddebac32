/** What a store keeps of a sink, also after it left the configuration. */
export interface RememberedSink {
  readonly name: string
  readonly type: string
  /** Where it ships to, without secrets: equal for two sinks with the same destination. Empty if unknown. */
  readonly place: string
  /** The names that it had before, the oldest first. */
  readonly formerly: readonly string[]
}

/** A sink of the configuration. `place` is undefined where this process cannot know it. */
export type PlacedSink = Pick<RememberedSink, 'name' | 'type'> & { readonly place: string | undefined }

/**
 * Sinks that look like remembered ones under a new name: the store does not know the name, and a sink that it knows, which is
 * no longer configured, had the same place. Under a new name everything would be shipped again. Returns the earlier
 * names by the new ones.
 */
export function renamedSinks(configured: readonly PlacedSink[], remembered: readonly RememberedSink[]) {
  const names = new Set(configured.map(({ name }) => name))
  const rememberedNames = new Set(remembered.map(({ name }) => name))
  const left = remembered.filter(({ name }) => !names.has(name))
  return new Map(
    configured.flatMap(({ name, type, place }): [string, string][] => {
      if (rememberedNames.has(name) || place === undefined) return []
      const before = left.find((each) => each.type === type && each.place === place)
      return before === undefined ? [] : [[name, before.name]]
    }),
  )
}
