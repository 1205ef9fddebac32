import { parsedJson } from '../../domain/text/decode.ts'
import { isObject, type Json, type JsonObject } from '../../domain/text/json.ts'
import { hashOf } from './hash.ts'

interface Entry {
  logId: string
  timestamp: unknown
  log: Json
  labels: object
}

/** Changes a log in the form that it has: a text stays a text. One that is no object stays as it is. */
function inLog(entry: Entry, change: (log: JsonObject) => JsonObject): Entry {
  const { log } = entry
  if (typeof log !== 'string') return isObject(log) ? { ...entry, log: change(log) } : entry
  const decoded = parsedJson(log)
  return isObject(decoded) ? { ...entry, log: JSON.stringify(change(decoded)) } : entry
}

/**
 * Ways in which entries may differ from what is assumed of them; `probe` names each. `dice` is a number from the id, below
 * 2 ** 32, so that an entry that is read again is the same.
 */
export const entryChanges = {
  'new-names': (entry) => ({
    ...inLog(entry, (log) => ({ ...log, NewField: 1 })),
    newMember: 'x',
    labels: { ...entry.labels, newLabel: 'x' },
  }),
  'mixed-logs': (entry, dice) => {
    const { log } = entry
    const decoded = typeof log === 'string' ? (parsedJson(log) ?? null) : log
    const kinds = [log, decoded, 'no JSON', null]
    return { ...entry, log: kinds[dice % kinds.length]! }
  },
  'mixed-times': ({ timestamp: ms, ...entry }, dice) => {
    const numbers = [1e-3, 1, 1e3, 1e6].map((unit) => Number(ms) * unit)
    const times = [...numbers, new Date(Number(ms)).toISOString(), null]
    return { ...entry, timestamp: times[dice % times.length] }
  },
  'poor-ids': (entry, dice) => ({ ...entry, logId: ['', 'the-same', entry.logId][dice % 3]! }),
  'listed-labels': ({ labels, ...entry }) => ({
    ...entry,
    labels: Object.entries<string>({ ...labels }).map(([Key, Value]) => ({ Key, Value })),
  }),
  'renamed-logs': (entry) =>
    inLog(entry, (log) =>
      Object.fromEntries(Object.entries(log).map(([name, value]) => [`Waf${name}`, value])),
    ),
  'masked-addresses': (entry) => inLog(entry, (log) => ({ ...log, RemoteIp: '198.51.100.*' })),
} satisfies Record<string, (entry: Entry, dice: number) => Entry>

export type EntryChange = keyof typeof entryChanges

/** The JSON of an entry with these changes, in their order, each once. */
export function changedEntry(json: string, names: readonly EntryChange[]): string {
  if (names.length === 0) return json
  const entry = JSON.parse(json) as Entry
  const dice = hashOf(entry.logId)
  return JSON.stringify(
    [...new Set(names)].reduce((changed, name) => entryChanges[name](changed, dice), entry),
  )
}
