import type { Output } from '../../src/terminal/io.ts'
import { expect, test } from 'vitest'
import { resultText } from '../../src/terminal/yaml.ts'
import { table, paintFor, wrapped } from '../../src/terminal/text.ts'
import { wrapPlain, cut, pad, textWidth } from '../../src/domain/text/terminal-text.ts'

test('a wide character takes two columns, a combining mark none', () => {
  expect(['shop', '日本', 'ﾊﾝｶｸ', 'e\u0301', '한국', 'متجر', '🚀', '…→█'].map(textWidth)).toEqual([
    4, 4, 4, 1, 4, 4, 2, 3,
  ])
})

test('texts are cut and padded by columns, never within a wide character', () => {
  expect(cut('日本語のお店', 8)).toBe('日本語…')
  expect(cut('日本語', 6)).toBe('日本語')
  expect(pad('日本', 6)).toBe('日本  ')
  expect(pad('日本', 6, 'right')).toBe('  日本')
})

test('a table keeps wide characters aligned, and has no column that is empty', () => {
  const columns = ['a', 'b', 'c'].map(
    (key) => [key, (row: Record<string, string>) => row[key] ?? ''] as const,
  )
  const rows = [
    { a: '日本', c: 'x' },
    { a: 'shop', c: 'y' },
  ]
  expect(table(rows, columns, paintFor({ write: () => undefined }))).toEqual([
    'a     c',
    '日本  x',
    'shop  y',
  ])
})

test('a word longer than a line stays whole, so that a command can be copied', () => {
  expect(wrapPlain('run 日本語のお店 now', 7)).toEqual(['run 日本語のお店', 'now'])
})

const message = `two errors:\n  zones[1]: ${'is text '.repeat(10)}\n  state: is a list\n`
const output = { write: () => undefined, columns: 60 }

test('an error is wrapped at words on a terminal, with its lines indented', () => {
  const lines = wrapped(message, { ...output, isTTY: true }).split('\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
  expect(lines[0]).toBe('two errors:')
  expect(lines[2]).toMatch(/^ {4}(is|text) /)
  expect(lines.slice(-2)).toEqual(['  state: is a list', ''])
})

test('a terminal that reports no size has a usual one', () => {
  const sized = (rows?: number, columns?: number) => {
    const { width, rows: lines } = paintFor({ write: () => undefined, isTTY: true, rows, columns } as Output)
    return [lines, width]
  }
  expect([sized(0, 0), sized(), sized(30, 90)]).toEqual([
    [24, 100],
    [24, 100],
    [30, 90],
  ])
})

test('an error in a pipe or file stays on one line', () => {
  expect(wrapped(message, output)).toBe(message)
})

test('a result as YAML leaves out what has no value, and escapes what controls a terminal', () => {
  const lines = resultText({ name: 'a\u001b[31mb\u202e', none: null, list: [{ id: 1 }], text: '' }).split(
    '\n',
  )
  expect(lines).toEqual([expect.stringMatching(/^name: \P{C}+$/u), 'list:', '  - id: 1', 'text: ""', ''])
})
