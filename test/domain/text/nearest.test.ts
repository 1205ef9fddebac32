import { expect, test } from 'vitest'
import { unknownWord } from '../../../src/domain/event/known-words.ts'
import { nearest } from '../../../src/domain/text/nearest.ts'

test.each([
  ['zonse', ['zones', 'sinks'], 'zones'],
  ['Warn', ['warning', 'warn'], 'warn'],
  ['siem', ['archive', 'sime'], 'sime'],
  ['tpye', ['type'], 'type'],
  // Every name of two letters could be made of any other by replacing both.
  ['3', ['0', '1', '2'], undefined],
  ['ab', ['cd', 'x'], undefined],
  ['a1', ['a2'], 'a2'],
  ['fil', ['file'], 'file'],
  ['cef', ['native', 'ecs'], undefined],
])('%s of %j: %s', (name, known, found) => {
  expect(nearest(name, known)).toBe(found)
})

test('of a severity that no event has, the known ones are named', () => {
  expect(unknownWord('severities', '3')).toMatch(/; known: notice, warning,/)
})
