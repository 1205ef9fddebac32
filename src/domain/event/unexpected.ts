/**
 * How the API's entries may differ from what shieldlog knows: members of a name that it does not know, labels of another
 * shape, no time that it can read, a log without any known name. Events keep all of it; fields of theirs may be empty.
 */
export const unexpectedKinds = ['member', 'labels', 'time', 'log'] as const
export type UnexpectedKind = (typeof unexpectedKinds)[number]

/** Names of what was new, by kind; never values. Bounded in number and length, and printable. */
export type UnexpectedNames = Readonly<Partial<Record<UnexpectedKind, readonly string[]>>>

/** What new events of a load were like; empty where all were as expected. */
export interface Unexpected {
  readonly names: UnexpectedNames
  /** Entries of each kind. */
  readonly counts: Readonly<Partial<Record<UnexpectedKind, number>>>
}

/** What a stream has met, and when first and last, ms since the epoch. */
export interface Drift {
  readonly names: UnexpectedNames
  readonly sinceMs: number
  readonly latestMs: number
}

const mostNames = 10
const endsAfterMs = 3_600_000

/** A drift has ended when events have come for an hour, and none of them was unexpected. Without events nobody knows. */
function hasEnded({ latestMs }: Pick<Drift, 'latestMs'>, newestEventMs: number | undefined): boolean {
  return newestEventMs !== undefined && newestEventMs - latestMs >= endsAfterMs
}

/** What the streams of a route have met together; undefined without a drift, or where it has ended. */
export function driftOf(all: readonly Drift[], newestEventMs: number | undefined): Drift | undefined {
  if (all.length === 0) return undefined
  const latestMs = Math.max(...all.map((each) => each.latestMs))
  const sinceMs = Math.min(...all.map((each) => each.sinceMs))
  const names = all.reduce<UnexpectedNames>((some, each) => joinedNames(some, each.names), {})
  return hasEnded({ latestMs }, newestEventMs) ? undefined : { names, sinceMs, latestMs }
}

/** After a load; undefined without a drift, or where it has ended. */
export function driftAfter(
  before: Drift | undefined,
  { names }: Unexpected,
  { nowMs, newestMs }: { readonly nowMs: number; readonly newestMs: number | undefined },
): Drift | undefined {
  if (Object.keys(names).length > 0)
    return {
      names: joinedNames(before?.names ?? {}, names),
      sinceMs: before?.sinceMs ?? nowMs,
      latestMs: nowMs,
    }
  return before === undefined || hasEnded(before, newestMs) ? undefined : before
}

/** Of several pages. */
export function joined(all: readonly Unexpected[]): Unexpected {
  const counts: { -readonly [Kind in UnexpectedKind]?: number } = {}
  for (const { counts: own } of all)
    for (const kind of unexpectedKinds)
      if (own[kind] !== undefined) counts[kind] = (counts[kind] ?? 0) + own[kind]
  return { names: all.reduce<UnexpectedNames>((names, each) => joinedNames(names, each.names), {}), counts }
}

/** Of both, the first so many of each kind. */
export function joinedNames(some: UnexpectedNames, others: UnexpectedNames): UnexpectedNames {
  const kinds = unexpectedKinds.filter((kind) => some[kind] !== undefined || others[kind] !== undefined)
  const joined = (kind: UnexpectedKind) => [...new Set([...(some[kind] ?? []), ...(others[kind] ?? [])])]
  return Object.fromEntries(kinds.map((kind) => [kind, joined(kind).slice(0, mostNames)]))
}

const texts: Readonly<Record<UnexpectedKind, string>> = {
  member: 'members that shieldlog does not know',
  labels: 'labels of another shape',
  time: 'no time that shieldlog can read',
  log: 'a log without any name that shieldlog knows',
}

/** `members that shieldlog does not know (ja4, feature), no time that shieldlog can read (timestamp: text)`. */
export function unexpectedText(names: UnexpectedNames): string {
  return unexpectedKinds
    .flatMap((kind) => (names[kind] === undefined ? [] : [`${texts[kind]} (${names[kind].join(', ')})`]))
    .join(', ')
}
