import { gzipSync } from 'node:zlib'
import { textAnswer, problem, type Answer } from './answer.ts'
import { hashOf } from './entries/hash.ts'
import { throttle, type Fault } from './faults.ts'

// Ways in which the service may differ from what is assumed of it, in every answer: `probe` names each of them. What
// they do to an entry depends on its id alone, so that a page that is read again is the same.

/** Event logs at most so often in a minute; all else is answered 429 with the seconds that are left of it. */
export function limited(perMinute: number): Fault {
  let [minute, count] = [-1, 0]
  return {
    kind: 'limited',
    answer(context) {
      const now = Math.floor(context.nowMs / 60_000)
      if (now !== minute) [minute, count] = [now, 0]
      if (++count <= perMinute) return undefined
      return throttle({ retryAfter: Math.ceil(60 - ((context.nowMs / 1000) % 60)) }).answer(context)
    },
  }
}

export const oldDayAnswers = ['refused', 'bad-request', 'not-found', 'empty'] as const

/** What is answered for a day that can no longer be read, instead of an error in the operation's envelope. */
export function oldDays(as: (typeof oldDayAnswers)[number]): Fault {
  return {
    kind: 'oldDays',
    answer({ route, regular }) {
      const answer = regular()
      if (answer.status !== 401 || !answer.body.includes('invalid_datetime_window')) return answer
      if (as === 'empty') {
        const page = {
          logs: [],
          hasMoreData: false,
          continuationToken: '',
          startToken: '',
          errorResponse: null,
        }
        return { ...answer, status: 200, body: Buffer.from(JSON.stringify(page)) }
      }
      const statuses = { refused: 401, 'bad-request': 400, 'not-found': 404 }
      return as === 'refused' ? answer : problem(statuses[as], 'There are no logs of this day.', route)
    },
  }
}

export function compressed(): Fault {
  return {
    kind: 'compressed',
    answer({ regular }) {
      const answer = regular()
      const headers = { ...answer.headers, 'content-encoding': 'gzip', vary: 'accept-encoding' }
      return { ...answer, headers, body: gzipSync(answer.body) }
    },
  }
}

/** With further headers, as those that tell of limits and caches. */
export function headed(more: Readonly<Record<string, string>>): Fault {
  return {
    kind: 'headed',
    answer({ regular }) {
      const answer = regular()
      return { ...answer, headers: { ...answer.headers, ...more } }
    },
  }
}

interface Entry {
  logId: string
  timestamp: unknown
  log: unknown
  labels: Record<string, string>
}

type Change = (entry: Entry, dice: number) => Entry

function inLog(entry: Entry, change: (log: Record<string, unknown>) => object): Entry {
  return { ...entry, log: JSON.stringify(change(JSON.parse(String(entry.log)) as Record<string, unknown>)) }
}

/** By name: what becomes of an entry. `dice` is a number from its id, below 2 ** 32. */
export const entryChanges = {
  'new-names': (entry) => ({
    ...inLog(entry, (log) => ({ ...log, NewField: 1 })),
    newMember: 'x',
    labels: { ...entry.labels, newLabel: 'x' },
  }),
  'mixed-logs': (entry, dice) => {
    const kinds = [entry.log, JSON.parse(String(entry.log)), 'no JSON', null]
    return { ...entry, log: kinds[dice % kinds.length] as unknown }
  },
  'mixed-times': ({ timestamp: ms, ...entry }, dice) => {
    const numbers = [1e-3, 1, 1e3, 1e6].map((unit) => Number(ms) * unit)
    const times = [...numbers, new Date(Number(ms)).toISOString(), null]
    return { ...entry, timestamp: times[dice % times.length] }
  },
  'poor-ids': (entry, dice) => ({ ...entry, logId: ['', 'the-same', entry.logId][dice % 3]! }),
  'masked-addresses': (entry) => inLog(entry, (log) => ({ ...log, RemoteIp: '198.51.100.*' })),
} satisfies Record<string, Change>

export type EntryChange = keyof typeof entryChanges

/** Changes every entry of event logs, in this order. */
export function changedEntries(names: readonly EntryChange[]): Fault {
  return {
    kind: 'changedEntries',
    answer({ regular }) {
      const answer = regular()
      const content = contentOf(answer)
      if (!Array.isArray(content?.['logs'])) return answer
      const logs = (content['logs'] as Entry[]).map((entry) => {
        const dice = hashOf(entry.logId)
        return names.reduce((changed, name) => entryChanges[name](changed, dice), entry)
      })
      return { ...answer, body: textAnswer(200, JSON.stringify({ ...content, logs })).body }
    },
  }
}

/** Undefined where the answer is no page. */
function contentOf({ status, body }: Answer): Record<string, unknown> | undefined {
  return status === 200 ? (JSON.parse(body.toString('utf8')) as Record<string, unknown>) : undefined
}
