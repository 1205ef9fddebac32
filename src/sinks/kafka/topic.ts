import { Failure } from '../../domain/failure.ts'

/** The settings of a topic that decide what becomes of a record after it was acknowledged. */
export const topicSettings = [
  'cleanup.policy',
  'retention.ms',
  'message.timestamp.type',
  'message.timestamp.before.max.ms',
  // Before Kafka 3.6, for both sides.
  'message.timestamp.difference.max.ms',
]

/** What a topic does with records by their time and key. */
export interface TopicRules {
  readonly isCompacted: boolean
  /** It deletes records, or refuses them, that are older; Infinity where it never does. */
  readonly maxAgeMs: number
  /** The setting that says so. */
  readonly maxAgeSetting: string
}

/** Reads the settings by name. Where the topic sets the times of records itself, that of an event does not matter. */
export function readTopicRules(given: ReadonlyMap<string, string | null | undefined>): TopicRules {
  const policies = (given.get('cleanup.policy') ?? '').split(',').map((policy) => policy.trim())
  const setsTimes = given.get('message.timestamp.type') === 'LogAppendTime'
  const limits = [
    ...(policies.includes('delete') ? ['retention.ms'] : []),
    'message.timestamp.before.max.ms',
    'message.timestamp.difference.max.ms',
  ].map((setting) => ({ setting, ms: setsTimes ? Infinity : msOf(given.get(setting)) }))
  const { setting, ms } = limits.reduce((least, limit) => (limit.ms < least.ms ? limit : least))
  return { isCompacted: policies.includes('compact'), maxAgeMs: ms, maxAgeSetting: setting }
}

/** -1, and for some settings the largest number, means no limit. */
function msOf(value: string | null | undefined): number {
  const ms = Number(value ?? -1)
  return ms >= 0 && Number.isSafeInteger(ms) ? ms : Infinity
}

/** Throws for a topic that would drop events which it acknowledged: of each key, a compacted one keeps the last record. */
export function assertKeeps(topic: string, { isCompacted }: TopicRules, what: string): void {
  if (!isCompacted) return
  const why = `topic ${topic} is compacted (cleanup.policy), so it would keep the last event of each zone only`
  throw new Failure(
    'stop',
    'sink_refuses',
    `${what}: ${why}; set cleanup.policy=delete, or use another topic`,
  )
}
