import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../setup/project-folder.ts'
import { fencesOf, type Fence } from './fences.ts'

/** A page for users: README.md or a page of docs/. */
export interface Page {
  /** From the project's folder. */
  readonly path: string
  readonly text: string
}

/** A fenced block and where it stands. */
export interface Block {
  readonly fence: Fence
  readonly page: string
  /** For the name of a test. */
  readonly title: string
}

export const pages: readonly Page[] = pathsOfPages().map((path) => ({ path, text: readPage(path) }))

export function readPage(path: string): string {
  return readFileSync(join(projectFolder, path), 'utf8')
}

export function pathsOfPages(): string[] {
  return ['README.md', ...globSync('docs/**/*.md', { cwd: projectFolder }).toSorted()]
}

export const allBlocks: readonly Block[] = pages.flatMap(({ path, text }) =>
  fencesOf(text).map((fence) => ({
    fence,
    page: path,
    title: `${path}:${fence.line}: ${fence.text.split('\n')[0]}`,
  })),
)

/** Shell commands with this mark; without one all of them. */
export function shellBlocks(mark?: string): Block[] {
  const shell = allBlocks.filter(({ fence }) => fence.language === 'sh')
  return mark === undefined ? shell : shell.filter(({ fence }) => fence.marks.includes(mark))
}
