import { readFileSync } from 'node:fs'

/** Rows of a tab-separated file of an outside authority, by its first column. */
export function table(name: string): Map<string, readonly string[]> {
  const [, ...rows] = text(name).trimEnd().split('\n')
  return new Map(rows.map((row) => row.split('\t')).map(([key = '', ...rest]) => [key, rest]))
}

export function json(name: string): unknown {
  return JSON.parse(text(name))
}

function text(name: string): string {
  return readFileSync(new URL(`../fixtures/authorities/${name}`, import.meta.url), 'utf8')
}
