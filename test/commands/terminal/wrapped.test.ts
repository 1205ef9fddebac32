import { expect, test } from 'vitest'
import { wrapped } from '../../../src/commands/terminal/text.ts'

const message = `two errors:\n  zones[1]: ${'is text '.repeat(10)}\n  state: is a list\n`
const output = { write: () => undefined, columns: 60 }

test('an error is wrapped at words on a terminal, with its lines indented', () => {
  const lines = wrapped(message, { ...output, isTTY: true }).split('\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
  expect(lines[0]).toBe('two errors:')
  expect(lines[2]).toMatch(/^ {4}(is|text) /)
  expect(lines.slice(-2)).toEqual(['  state: is a list', ''])
})

test('an error in a pipe or file stays on one line', () => {
  expect(wrapped(message, output)).toBe(message)
})
