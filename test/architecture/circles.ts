import type { SourceFile } from './source-file.ts'

/** Paths that lead from a file over its imports back to it; of each circle the first one that is found. */
export function circlesIn(files: readonly SourceFile[]): string[][] {
  const importsOf = new Map(
    files.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]),
  )
  const done = new Set<string>()
  const way: string[] = []
  const circles: string[][] = []

  function follow(path: string): void {
    const at = way.indexOf(path)
    if (at !== -1) circles.push([...way.slice(at), path])
    if (at !== -1 || done.has(path)) return
    way.push(path)
    for (const target of importsOf.get(path) ?? []) follow(target)
    way.pop()
    done.add(path)
  }

  for (const path of importsOf.keys()) follow(path)
  return circles
}
