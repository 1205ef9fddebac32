import { inSource, type Rule } from './rule.ts'

const mostArguments = 4
const mostLinesAroundState = 80

/** To be divided. Nothing may be added. */
const stillLong = ['src/telemetry/metrics/metrics.ts']

const longClosure = (variable: string, lines: number): string =>
  `export function createX() {\n  ${variable}\n  return { add() { return ++count } }\n${'\n'.repeat(lines)}}`

export const functions: readonly Rule[] = [
  {
    name: `no function takes more than ${mostArguments} arguments`,
    remedy: 'take an object: calls then name what they pass',
    covers: inSource,
    problemsOf: ({ functions: all }) =>
      all
        .filter((each) => each.arguments > mostArguments)
        .map((each) => ({ what: `${each.name} takes ${each.arguments} arguments`, line: each.line })),
    refuses: [
      { path: 'src/x.ts', text: 'function x(a, b, c, d, e) {}' },
      { path: 'src/x.ts', text: 'const x = (a, b, { c }, d, ...e) => a' },
      { path: 'src/x.ts', text: 'class X { #x(a, b, c, d, e) {} }' },
    ],
    accepts: [{ path: 'src/x.ts', text: 'function x(a, b, c, { d, e }) {}' }],
  },
  {
    name: `no function of more than ${mostLinesAroundState} lines has variables that its inner functions share`,
    remedy: 'make it a small class with private fields, or divide it into modules',
    covers: (path) => inSource(path) && !stillLong.includes(path),
    problemsOf: ({ functions: all }) =>
      all
        .filter((each) => each.lines > mostLinesAroundState && each.sharedVariables.length > 0)
        .map((each) => ({
          what: `${each.name} has ${each.lines} lines around ${each.sharedVariables.join(', ')}`,
          line: each.line,
        })),
    refuses: [{ path: 'src/x.ts', text: longClosure('let count = 0', mostLinesAroundState) }],
    accepts: [
      { path: 'src/x.ts', text: longClosure('let count = 0', 10) },
      { path: 'src/x.ts', text: longClosure('const counted = 0', mostLinesAroundState) },
    ],
  },
]
