import { wrapPlain } from '../../domain/text/wrap.ts'
import type { Paint } from '../terminal/terminal.ts'
import { problemsIn, type Finding } from './finding.ts'

const marks = { ok: 'ok', note: 'note', fail: 'FAIL' } as const
const mostStep = 28

/** As wide as the longest step, so that marks are aligned. */
export function stepWidth(steps: readonly string[]): number {
  return Math.min(mostStep, Math.max(13, ...steps.map((step) => step.length)))
}

/** One finding, wrapped at words below its text. */
export function findingLines({ step, mark, text, isPart }: Finding, width: number, paint: Paint): string[] {
  const name = isPart === true ? `  ${step}` : step
  const head = `${name.padEnd(width)}  `
  const word = marks[mark].padEnd(4)
  const painted = mark === 'ok' ? paint.good(word) : mark === 'fail' ? paint.bad(word) : word
  const indent = ' '.repeat(width + 8)
  const [first = '', ...rest] = wrapPlain(
    text,
    Math.max(20, paint.width - Math.max(head.length + 6, indent.length)),
  )
  return [`${head}${painted}  ${first}`.trimEnd(), ...rest.map((line) => `${indent}${line}`)]
}

export function summaryLine(findings: readonly Finding[], paint: Paint): string {
  const count = problemsIn(findings)
  if (count === 0) return paint.good('No problems.')
  return paint.bad(`${count} ${count === 1 ? 'problem. Fix it' : 'problems. Fix them'} and run check again.`)
}
