import { hashOf } from './hash.ts'

interface Entry {
  logId: string
  timestamp: unknown
  log: unknown
  labels: Record<string, string>
}

function inLog(entry: Entry, change: (log: Record<string, unknown>) => object): Entry {
  return { ...entry, log: JSON.stringify(change(JSON.parse(String(entry.log)) as Record<string, unknown>)) }
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
} satisfies Record<string, (entry: Entry, dice: number) => Entry>

export type EntryChange = keyof typeof entryChanges

/** The JSON of an entry with these changes, in their order. */
export function changedEntry(json: string, names: readonly EntryChange[]): string {
  if (names.length === 0) return json
  const entry = JSON.parse(json) as Entry
  const dice = hashOf(entry.logId)
  return JSON.stringify(names.reduce((changed, name) => entryChanges[name](changed, dice), entry))
}
