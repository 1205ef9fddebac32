import { posix } from 'node:path'
import type { SourceFile } from './source-file.ts'

type Imports = ReadonlyMap<string, Iterable<string>>

/** Paths that lead from a file over its imports back to it; of each circle the first one that is found. */
export function circlesOfFiles(files: readonly SourceFile[]): string[][] {
  return circlesIn(
    new Map(files.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])])),
  )
}

/** The same of folders. A folder and the folders inside of it are one part: they may import each other. */
export function circlesOfFolders(files: readonly SourceFile[]): string[][] {
  const importsOf = new Map<string, Set<string>>()
  for (const { path, imports } of files) {
    const folder = posix.dirname(path)
    const others = imports
      .flatMap(({ target }) => (target === undefined ? [] : posix.dirname(target)))
      .filter((other) => !`${other}/`.startsWith(`${folder}/`) && !`${folder}/`.startsWith(`${other}/`))
    importsOf.set(folder, new Set([...(importsOf.get(folder) ?? []), ...others]))
  }
  return circlesIn(importsOf)
}

function circlesIn(importsOf: Imports): string[][] {
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
