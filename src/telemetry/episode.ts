import type { Report } from './conditions.ts'
import type { Fields, LineLevel } from './logger.ts'
import { countPhrase, durationPhrase } from './phrases.ts'

/** A line of a condition. */
export interface Told {
  readonly level: LineLevel
  readonly event: Report['event']
  readonly message: string
  readonly fields: Fields
}

/** One condition, from its first report until it is forgotten. Instants in ms by the clock that never jumps. */
export interface Episode {
  report(report: Report, member: string, nowMs: number): void
  /** True when nobody is left. */
  remove(member: string): boolean
  end(nowMs: number): void
  stands(): boolean
  /** Too early for an end. */
  holds(nowMs: number): boolean
  event(): Report['event']
  members(): string[]
  membersOutside(isMember: (zone: number | undefined, sink: string | undefined) => boolean): string[]
  /** Tells what is due and names the members that faded. */
  turn(nowMs: number): string[]
  tellUntold(nowMs: number): void
  isForgotten(nowMs: number): boolean
}

interface Member {
  readonly zone: number | undefined
  readonly sink: string | undefined
  readonly fadesAtMs: number
}

const tenMinutesMs = 600_000
const mostBeginnings = 3
const flushAfterMs = 10_000

export function createEpisode(tell: (line: Told) => void): Episode {
  const members = new Map<string, Member>()
  /** Every zone that had it since it began. */
  const zones = new Set<number>()
  /** Instants of the lines that told a beginning, of the last ten minutes. */
  let beginnings: number[] = []
  let latest: Report
  let beganAtMs = 0
  let toldAtMs = Number.NEGATIVE_INFINITY
  let seenAtMs = 0
  let holdsUntilMs = Number.NEGATIVE_INFINITY
  let count = 0
  let untold = 0
  let isStanding = false
  /** Its beginning was not told, because it comes and goes. */
  let isQuiet = false

  /** While it lasts the zones that have it now, else all that had it. */
  function spread(): number {
    if (!isStanding || !latest.hasEnd) return zones.size
    const standing = new Set<number>()
    for (const { zone } of members.values()) if (zone !== undefined) standing.add(zone)
    return standing.size
  }

  const everyMs = () => latest.everyMs ?? tenMinutesMs

  function say(phase: 'begins' | 'lasts' | 'ends', level: LineLevel, message: string, nowMs: number): void {
    toldAtMs = nowMs
    untold = 0
    tell({
      level,
      event: latest.event,
      message,
      fields: {
        ...(latest.hasEnd ? { phase } : {}),
        ...latest.fields,
        ...(phase === 'begins' ? latest.details : {}),
        ...(phase === 'lasts' ? { latest: latest.message } : {}),
        count,
        ...(spread() > 1 ? { zones: spread() } : {}),
      },
    })
  }

  /** For example `account default: timeout: 57 times in 12 min, 500 zones`. */
  function summary(nowMs: number): string {
    const where = spread() > 1 ? `, ${countPhrase(spread(), 'zone')}` : ''
    return `${latest.about}: ${countPhrase(count, 'time')} in ${durationPhrase(nowMs - beganAtMs)}${where}`
  }

  function begin(nowMs: number): void {
    isStanding = true
    beginnings = beginnings.filter((atMs) => nowMs - atMs < tenMinutesMs)
    isQuiet = beginnings.length >= mostBeginnings
    // What comes and goes is counted as one.
    if (isQuiet) return
    beganAtMs = nowMs
    count = 0
    zones.clear()
  }

  function finish(): void {
    isStanding = false
    members.clear()
  }

  return {
    report(report, member, nowMs) {
      latest = report
      seenAtMs = nowMs
      const begins = !isStanding
      if (begins) begin(nowMs)
      count++
      untold++
      if (report.holdsForMs !== undefined) holdsUntilMs = Math.max(holdsUntilMs, nowMs + report.holdsForMs)
      if (report.zone !== undefined) zones.add(report.zone)
      const fadesAtMs = nowMs + (report.fadesAfterMs ?? tenMinutesMs)
      members.set(member, { zone: report.zone, sink: report.sink, fadesAtMs })
      if (!begins || isQuiet) return
      beginnings.push(nowMs)
      say('begins', report.level, report.message, nowMs)
    },
    remove(member) {
      return members.delete(member) && members.size === 0
    },
    end(nowMs) {
      if (!isStanding) return
      finish()
      // Its beginning was not told: the latest line said that it is over, and that is true again.
      if (!isQuiet) say('ends', 'info', `over: ${summary(nowMs)}`, nowMs)
    },
    stands: () => isStanding,
    holds: (nowMs) => nowMs < holdsUntilMs,
    event: () => latest.event,
    members: () => [...members.keys()],
    membersOutside(isMember) {
      const outside: string[] = []
      for (const [name, { zone, sink }] of members) if (!isMember(zone, sink)) outside.push(name)
      return outside
    },
    turn(nowMs) {
      if (!isStanding) {
        if (untold > 0 && nowMs - toldAtMs >= everyMs())
          say('ends', 'info', `came and went: ${summary(nowMs)}`, nowMs)
        return []
      }
      const faded: string[] = []
      for (const [name, { fadesAtMs }] of members) if (fadesAtMs <= nowMs) faded.push(name)
      for (const name of faded) members.delete(name)
      if (members.size === 0) {
        finish()
        if (latest.hasEnd && !isQuiet) say('ends', 'info', `not reported any more: ${summary(nowMs)}`, nowMs)
        else if (untold > 0) say('lasts', latest.level, summary(nowMs), nowMs)
        return faded
      }
      const isDue = nowMs - toldAtMs >= everyMs()
      if (!isDue || (!latest.hasEnd && untold === 0)) return faded
      isQuiet = false
      say('lasts', latest.level, latest.hasEnd ? `still ${summary(nowMs)}` : summary(nowMs), nowMs)
      return faded
    },
    tellUntold(nowMs) {
      // A process that ends at once has said it just now.
      if (untold > 0 && nowMs - toldAtMs >= flushAfterMs) say('lasts', latest.level, summary(nowMs), nowMs)
    },
    isForgotten: (nowMs) => !isStanding && nowMs - Math.max(seenAtMs, toldAtMs) >= tenMinutesMs,
  }
}
