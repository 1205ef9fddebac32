import { beginning, textWidth } from './text-width.ts'

/** Wraps a text at spaces. A word that no line can hold is not split, and stays where it is. */
export function wrap(text: string, indent: string, width: number): string[] {
  const lines: string[] = []
  let line = indent
  for (const word of text.split(' ')) {
    const isFirst = line.trim() === ''
    const fits = textWidth(line) + 1 + textWidth(word) <= width
    const wouldFit = indent.length + 2 + textWidth(word) <= width
    if (!isFirst && !fits && wouldFit) {
      lines.push(line)
      line = `${indent}  ${word}`
    } else line = isFirst ? `${line}${word}` : `${line} ${word}`
  }
  return [...lines, line]
}

/** Wraps a text at spaces, every line from the first column; only a word that no line can hold is split. */
export function wrapPlain(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const next = line === '' ? word : `${line} ${word}`
    if (textWidth(next) <= width) {
      line = next
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    while (textWidth(line) > width) {
      const part = beginning(line, Math.max(2, width))
      lines.push(part)
      line = line.slice(part.length)
    }
  }
  return line === '' && lines.length > 0 ? lines : [...lines, line]
}
