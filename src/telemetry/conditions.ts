import type { Happening } from '../domain/happening.ts'
import { createEpisode } from './episode.ts'
import type { Episode, Told } from './episode.ts'
import type { Fields, LineLevel } from './logger.ts'

/**
 * What lasts or repeats is told in few lines. A condition is one reason, however many streams have it:
 *
 * - absent: nobody reported it lately.
 * - stands: it was reported. The first report is told at once; while it stands, a line at most every ten minutes, with
 *   the counts since it began. It stands for each of its members (streams, say), and is over when the last one left.
 * - fades: nobody left, but nobody reported it for so long that its members must be somewhere else by now (another worker
 *   pumps the stream, say), or it is of the kind that has no end (a refused event). Told only where something is untold.
 * - comes and goes: after three beginnings within ten minutes, further ones are counted and told with the next line.
 *
 * No timer: whatever happens next in the process drives it, and something does every few seconds.
 */
export interface Conditions {
  report(report: Report): void
  /** A member has the condition no longer. */
  leave(event: Happening['name'], member: string): void
  /** It is over for all. */
  end(event: Happening['name'], group: string): void
  stands(event: Happening['name'], group: string): boolean
  /** Drops members that left the configuration. */
  retain(isMember: (zone: number | undefined, sink: string | undefined) => boolean): void
  /** Tells what is due. Cheap; to be called on everything that happens. */
  turn(): void
  /** Tells what is still untold; for the end of the process. */
  flush(): void
}

export interface Report {
  readonly event: Happening['name']
  /** Reports of one event and group are one condition. From closed sets and configured names, never from the wire. */
  readonly group: string
  readonly level: LineLevel
  /** Who has it; the group itself when absent. A member has one condition of an event at a time. */
  readonly member?: string
  readonly zone?: number
  readonly sink?: string
  /** The line of its beginning. */
  readonly message: string
  /** What the later lines are about, for example `account default: timeout`. */
  readonly about: string
  /** Of the condition. */
  readonly fields?: Fields
  /** Of this report; on the first line only. */
  readonly details?: Fields
  /** It has an end, which somebody will report; otherwise it fades in silence. */
  readonly hasEnd: boolean
  /** Without a report for so long it fades; ten minutes when absent. */
  readonly fadesAfterMs?: number
  /** For so long nobody's word ends it, since answers that were on their way say nothing about it. */
  readonly holdsForMs?: number
  /** Between lines while it stands; ten minutes when absent. */
  readonly everyMs?: number
}

export interface ConditionsDeps {
  /** By the clock that never jumps, ms. */
  readonly nowMs: () => number
  readonly tell: (line: Told) => void
}

const turnEveryMs = 1000
/** Above it further groups of one event share a condition, so that nothing from outside makes this grow. */
const mostGroups = 200

export function createConditions({ nowMs, tell }: ConditionsDeps): Conditions {
  const episodes = new Map<string, Episode>()
  /** Event and member → the condition that the member is in. */
  const places = new Map<string, string>()
  let turnedAtMs = Number.NEGATIVE_INFINITY

  function keyOf(event: string, group: string): string {
    const key = `${event} ${group}`
    if (episodes.has(key) || episodes.size < mostGroups) return key
    let groups = 0
    for (const episode of episodes.values()) if (episode.event() === event) groups++
    return groups < mostGroups ? key : `${event} others`
  }

  function removeFrom(key: string | undefined, member: string): void {
    if (key === undefined) return
    const episode = episodes.get(key)
    if (episode?.remove(member) === true) episode.end(nowMs())
  }

  return {
    report(report) {
      const key = keyOf(report.event, report.group)
      const member = report.member ?? report.group
      const place = `${report.event} ${member}`
      const previous = places.get(place)
      places.set(place, key)
      let episode = episodes.get(key)
      if (episode === undefined) {
        episode = createEpisode(tell)
        episodes.set(key, episode)
      }
      episode.report(report, member, nowMs())
      if (previous !== key) removeFrom(previous, member)
    },
    leave(event, member) {
      const place = `${event} ${member}`
      removeFrom(places.get(place), member)
      places.delete(place)
    },
    end(event, group) {
      const key = `${event} ${group}`
      const episode = episodes.get(key)
      if (episode === undefined || !episode.stands() || episode.holds(nowMs())) return
      for (const member of episode.members()) places.delete(`${event} ${member}`)
      episode.end(nowMs())
    },
    stands: (event, group) => episodes.get(`${event} ${group}`)?.stands() === true,
    retain(isMember) {
      for (const episode of episodes.values())
        for (const member of episode.membersOutside(isMember)) {
          places.delete(`${episode.event()} ${member}`)
          if (episode.remove(member)) episode.end(nowMs())
        }
    },
    turn() {
      const atMs = nowMs()
      if (atMs - turnedAtMs < turnEveryMs) return
      turnedAtMs = atMs
      for (const [key, episode] of episodes) {
        for (const member of episode.turn(atMs)) places.delete(`${episode.event()} ${member}`)
        if (episode.isForgotten(atMs)) episodes.delete(key)
      }
    },
    flush() {
      for (const episode of episodes.values()) episode.tellUntold(nowMs())
    },
  }
}
