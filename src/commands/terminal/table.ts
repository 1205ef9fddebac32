import { cut, pad, widestOf } from '../../domain/text/text-width.ts'

/** Formats rows under a header, in columns as wide as their widest cell; a line beyond the width is cut with `…`. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { indent = '', width = 120 }: { readonly indent?: string; readonly width?: number } = {},
): string[] {
  const widths = header.map((title, column) => widestOf([title, ...rows.map((row) => row[column] ?? '')]))
  return [header, ...rows].map((row) =>
    cut(indent + row.map((cell, column) => pad(cell, widths[column] ?? 0)).join('  '), width),
  )
}
