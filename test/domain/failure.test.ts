import { expect, test } from 'vitest'
import { withoutSink } from '../../src/domain/failure.ts'

test.each([
  ['sink siem (https://h:1) answered 503 (busy)', 'https://h:1 answered 503 (busy)'],
  ['sink siem: stdout cannot be written', 'stdout cannot be written'],
  ['sink siem2 (https://h) answered 503', 'sink siem2 (https://h) answered 503'],
  ['sink siem (no end', 'sink siem (no end'],
  ['event_logs of account default: no answer', 'event_logs of account default: no answer'],
])('"%s" does not name its sink twice', (message, without) => {
  expect(withoutSink(message, 'siem')).toBe(without)
})
