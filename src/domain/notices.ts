import type { StatusProblem } from './problem.ts'

/** What people are told of: it begins, it lasts (once a day), it is over. Texts are safe to print. */
export interface Notice {
  readonly status: 'begins' | 'lasts' | 'over'
  readonly key: string
  readonly text: string
  /** What to do; empty where the text says all. */
  readonly remedy: string
  readonly sinceMs: number
}

/** A problem that stands, or that ended a moment ago. All instants are ms since the epoch. */
export interface Noticed {
  readonly key: string
  /** As it was last told. */
  readonly text: string
  readonly sinceMs: number
  /** When it was last a problem. */
  readonly stoodAtMs: number
  /** Absent: nobody has been told. */
  readonly toldAtMs?: number
}

export interface NoticedAt {
  readonly place: string
  readonly known: readonly Noticed[]
}

const minuteMs = 60_000
/** What passes by itself within this time is not worth a message; nor is the end of what begins again. */
const settlesMs = 5 * minuteMs
const reminderMs = 24 * 60 * minuteMs
/** More events are lost: that is news, but not for each zone of a fleet. */
const growsMs = 60 * minuteMs
const lossIsNearMs = 12 * 60 * minuteMs

/** A problem of the status, or a disk of this host that is nearly full: its `sink` is the first that writes there. */
export type NoticedProblem = Omit<StatusProblem, 'kind'> & { readonly kind: StatusProblem['kind'] | 'disk' }

/** What may pass by itself; all else is told at once. */
const passing = new Set<NoticedProblem['kind']>(['failing', 'behind', 'stopped', 'disk'])
/** What a person did on purpose, or that no event is lost by. */
const untold = new Set<NoticedProblem['kind']>(['unconfigured', 'unexpected', 'filtered'])

/** What a person has ended when it is gone, and a sink that was held: it does not come back by itself. */
const ended = new Set<string>([
  'gap',
  'dead_letters',
  'differs',
  'new_state',
  'other_state',
] satisfies NoticedProblem['kind'][])

interface Condition extends Pick<Notice, 'key' | 'text' | 'remedy'> {
  readonly mayPass: boolean
  /** Another text is told before the daily reminder. */
  readonly grows: boolean
}

/** A problem as a place is to know it, until it has been told of `notice`. */
interface Judged {
  readonly known: Noticed
  readonly notice?: Notice
}

/** The same once it has been told; nothing of a problem that is over. */
export function onceTold({ known, notice }: Judged): Noticed[] {
  const { status, text } = notice!
  return status === 'over' ? [] : [{ ...known, text, toldAtMs: known.stoodAtMs }]
}

/**
 * What is to be told now, and what is known before and after that. A problem is one cause, however many zones have it.
 * One that may pass by itself is told after five minutes, and its end when it has not come back for five; the end of what
 * a person has ended at once.
 */
export function noticesOf(noted: readonly Noticed[], problems: readonly NoticedProblem[], nowMs: number) {
  const before = new Map(noted.map((each) => [each.key, notAfter(nowMs, each)]))
  const conditions = oneOfEachKey(problems.flatMap((problem) => conditionsOf(problem, nowMs)))
  const standing = conditions.map(({ key, text, remedy, mayPass, grows }): Judged => {
    const { sinceMs, toldAtMs, text: toldText } = before.get(key) ?? { sinceMs: nowMs, text }
    before.delete(key)
    const status = toldAtMs === undefined ? 'begins' : 'lasts'
    const told = toldAtMs === undefined ? { text } : { text: toldText, toldAtMs }
    const known = { key, sinceMs, stoodAtMs: nowMs, ...told }
    const againMs = grows && text !== toldText ? growsMs : reminderMs
    const isDue =
      toldAtMs === undefined ? !mayPass || nowMs - sinceMs >= settlesMs : nowMs - toldAtMs >= againMs
    return isDue ? { known, notice: { status, key, text, remedy, sinceMs } } : { known }
  })
  const gone = [...before.values()].flatMap((known): Judged[] => {
    const { key, text, sinceMs, stoodAtMs, toldAtMs } = known
    const isEnded = ended.has(key.slice(0, key.indexOf('/'))) || key.endsWith('/held')
    if (!isEnded && nowMs - stoodAtMs < settlesMs) return [{ known }]
    if (toldAtMs === undefined) return []
    return [{ known, notice: { status: 'over', key, text, remedy: '', sinceMs } }]
  })
  return [...standing, ...gone]
}

/** Instants that were written while a clock ran ahead would delay what is told by as much. */
function notAfter(nowMs: number, { sinceMs, stoodAtMs, toldAtMs, ...rest }: Noticed): Noticed {
  return {
    ...rest,
    sinceMs: Math.min(sinceMs, nowMs),
    stoodAtMs: Math.min(stoodAtMs, nowMs),
    ...(toldAtMs !== undefined && { toldAtMs: Math.min(toldAtMs, nowMs) }),
  }
}

/** Errors of one sink and one code may differ in their words, zone by zone: they are one message. */
function oneOfEachKey(conditions: readonly Condition[]): Condition[] {
  return [...Map.groupBy(conditions, ({ key }) => key).values()].map(([first, ...others]) =>
    others.length === 0
      ? first!
      : { ...first!, text: `${first!.text} And ${others.length} more like it: see shieldlog status.` },
  )
}

/** The problem, and that its events may soon be lost. */
function conditionsOf({ kind, brief, remedy, ...about }: NoticedProblem, nowMs: number): Condition[] {
  if (untold.has(kind)) return []
  const { text: whole, sink = '', reason, lastError, apiDeadlineAt } = about
  const text = brief ?? whole
  const isGap = kind === 'gap'
  const own = {
    // One of a further sink is no other gap.
    key: [kind, isGap ? '' : sink, lastError?.code ?? reason ?? ''].join('/'),
    text,
    remedy,
    mayPass: passing.has(kind),
    grows: isGap,
  }
  const isNear = apiDeadlineAt !== undefined && Date.parse(apiDeadlineAt) - nowMs < lossIsNearMs
  if (!isNear) return [own]
  const loss = `Events that are not shipped by ${apiDeadlineAt} are lost. ${text}`
  // A day ends within twelve hours for hours of each day: what passes by itself is no news then, either.
  return [own, { ...own, key: `loss/${sink}`, text: loss }]
}
