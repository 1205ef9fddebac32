import { expect, test } from 'vitest'
import { assertKeeps, readTopicRules } from '../../../src/sinks/kafka/topic.ts'

const hourMs = 3_600_000
const usual = {
  'cleanup.policy': 'delete',
  'retention.ms': '604800000',
  'message.timestamp.type': 'CreateTime',
  'message.timestamp.before.max.ms': '9223372036854775807',
  'message.timestamp.after.max.ms': '3600000',
}
const rulesOf = (given: Readonly<Record<string, string | null>>) =>
  readTopicRules(new Map(Object.entries({ ...usual, ...given })))

test.each([
  [{}, 168 * hourMs, 'retention.ms'],
  [{ 'retention.ms': '86400000' }, 24 * hourMs, 'retention.ms'],
  [{ 'retention.ms': '-1' }, Infinity, 'retention.ms'],
  [{ 'retention.ms': null }, Infinity, 'retention.ms'],
  [{ 'retention.ms': '0' }, 0, 'retention.ms'],
  [{ 'cleanup.policy': 'compact', 'retention.ms': '86400000' }, Infinity, 'message.timestamp.before.max.ms'],
  [{ 'cleanup.policy': 'compact,delete', 'retention.ms': '86400000' }, 24 * hourMs, 'retention.ms'],
  [{ 'message.timestamp.before.max.ms': '7200000' }, 2 * hourMs, 'message.timestamp.before.max.ms'],
  [{ 'message.timestamp.difference.max.ms': '7200000' }, 2 * hourMs, 'message.timestamp.difference.max.ms'],
  [
    {
      'message.timestamp.type': 'LogAppendTime',
      'retention.ms': '3600000',
      'message.timestamp.before.max.ms': '1',
    },
    Infinity,
    'retention.ms',
  ],
])('a topic with %j takes records up to an age of %d ms, by %s', (given, maxAgeMs, maxAgeSetting) => {
  expect(rulesOf(given)).toMatchObject({ maxAgeMs, maxAgeSetting })
})

test('a topic that does not say anything has no limit', () => {
  expect(readTopicRules(new Map())).toMatchObject({ isCompacted: false, maxAgeMs: Infinity })
})

test.each(['compact', 'compact,delete', 'delete, compact'])(
  'a topic with cleanup.policy %s stops the sink',
  (policy) => {
    const rules = rulesOf({ 'cleanup.policy': policy })
    expect(() => assertKeeps('waf', rules, 'sink bus')).toThrow(
      expect.objectContaining({
        kind: 'stop',
        code: 'sink_refuses',
        message: expect.stringMatching(/^sink bus: topic waf is compacted .*; set cleanup.policy=delete/),
      }),
    )
    expect(() => assertKeeps('waf', rulesOf({}), 'sink bus')).not.toThrow()
  },
)
