import type { SourceFile } from './source-file.ts'

/** A rule about one file at a time. It proves on its own snippets that it can fail, and that it does not fail for nothing. */
export interface Rule {
  readonly name: string
  /** What to do instead. */
  readonly remedy: string
  /** Whether it looks at the file of this path. */
  readonly covers: (path: string) => boolean
  readonly problemsOf: (file: SourceFile) => readonly Problem[]
  readonly refuses: readonly Snippet[]
  readonly accepts: readonly Snippet[]
}

export interface Problem {
  readonly what: string
  readonly line?: number
}

export interface Snippet {
  readonly path: string
  readonly text: string
}

export const inSource = (path: string): boolean => path.startsWith('src/') && path.endsWith('.ts')
export const inSourceOrTest = (path: string): boolean => /^(?:src|test)\/.*\.ts$/.test(path)

export function explain(rule: Pick<Rule, 'remedy'>, path: string, problem: Problem): string {
  const place = problem.line === undefined ? path : `${path}:${problem.line}`
  return `${place}: ${problem.what}\n    instead: ${rule.remedy}`
}
