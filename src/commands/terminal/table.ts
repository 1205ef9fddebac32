/** Formats rows under a header, in columns as wide as their widest cell; a line beyond the width is cut with `…`. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { indent = '', width = 120 }: { readonly indent?: string; readonly width?: number } = {},
): string[] {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  return [header, ...rows].map((row) =>
    cut(indent + row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '), width),
  )
}

export function cut(line: string, width: number): string {
  const trimmed = line.trimEnd()
  return trimmed.length > width ? `${trimmed.slice(0, Math.max(1, width - 1))}…` : trimmed
}

/** Wraps a text at spaces; a word longer than the width is not split. */
export function wrap(text: string, indent: string, width: number): string[] {
  const lines: string[] = []
  let line = indent
  for (const word of text.split(' ')) {
    const isFirst = line.trim() === ''
    if (!isFirst && line.length + 1 + word.length > width) {
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
    if (next.length <= width) {
      line = next
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width))
  }
  return line === '' && lines.length > 0 ? lines : [...lines, line]
}
