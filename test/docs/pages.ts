import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../setup/project-folder.ts'

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

/** A fenced block of a Markdown text. */
export interface Fence {
  readonly language: string
  /** After the language: `run` (runs as it is), `tour` (runs in a prepared folder), `shieldlog` (a configuration). */
  readonly marks: readonly string[]
  readonly text: string
  /** Of its first line, counted from 1. */
  readonly line: number
}

export function fencesOf(markdown: string): Fence[] {
  const fences: Fence[] = []
  let open: { info: string; line: number; lines: string[] } | undefined
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open === undefined) {
      if (line.startsWith('```')) open = { info: line.slice(3).trim(), line: index + 2, lines: [] }
    } else if (line === '```') {
      const [language = '', ...marks] = open.info.split(' ')
      fences.push({ language, marks, text: `${open.lines.join('\n')}\n`, line: open.line })
      open = undefined
    } else open.lines.push(line)
  }
  if (open !== undefined) throw new Error(`the block that begins before line ${open.line} has no end`)
  return fences
}

/** What a page has a shell do in a container: `sh -c '…'` in the line of a block that has these words. */
export function commandIn(path: string, words: string): string {
  const lines = fencesOf(readPage(path)).flatMap(({ text }) => text.split('\n'))
  const [, command] = / -c '(.*)'/.exec(lines.find((line) => line.includes(` ${words} -c '`)) ?? '') ?? []
  if (command === undefined) throw new Error(`no line of ${path} has ${words} -c '…'`)
  return command
}

/** Targets of all links of a Markdown text, code left out. */
export function linksOf(markdown: string): string[] {
  const text = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
}

/** What GitHub calls a heading in a link. */
export function anchorsOf(markdown: string): string[] {
  const text = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
