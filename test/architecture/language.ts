import { inSource, inSourceOrTest, type Problem, type Rule } from './rule.ts'
import type { SourceFile } from './source-file.ts'

/** A problem for each use of a global with one of these names; a name that ends with a dot stands for all that begin with it. */
function globalsNamed(file: SourceFile, names: readonly string[]): Problem[] {
  return file.globals
    .filter(({ name }) => names.some((each) => (each.endsWith('.') ? name.startsWith(each) : name === each)))
    .map(({ name, line }) => ({ what: `uses ${name}`, line }))
}

// prettier-ignore
const timeNames = [
  'Date.now', 'new Date()', 'Date()', 'new UTCDate()', 'new UTCDateMini()', 'Temporal.Now.',
  'performance.now', 'performance.timeOrigin', 'process.hrtime', 'process.hrtime.bigint', 'process.uptime',
  'setTimeout', 'setInterval', 'AbortSignal.timeout',
]
// setImmediate waits for nothing: it gives other work a turn.
const timerNames = ['setTimeout', 'setInterval', 'scheduler', 'default', '*']

/** The last one learns from npm how the program was called, which is not a setting. */
const readersOfEnvironment = [
  'src/config/load/load.ts',
  'src/commands/init/document.ts',
  'src/config/load/server-address.ts',
  'src/commands/program-name.ts',
  // As undici does, which has no way to ask it for its choice.
  'src/transport/proxy-of.ts',
]

export const language: readonly Rule[] = [
  {
    name: 'time comes from the Clock',
    remedy:
      'take the Clock port: clock.now(), clock.monotonic(), clock.sleep(ms, signal); new Date(ms) of a given instant is fine',
    covers: (path) => inSource(path) && !/^src\/(?:clock\.ts$|schedule\/local\/)/.test(path),
    problemsOf(file) {
      const imported = file.imports
        .filter(({ specifier, names }) => specifier === 'node:perf_hooks' && names.includes('performance'))
        .map(({ line }) => ({ what: 'imports performance', line }))
      const timers = file.imports
        .filter(({ specifier }) => /^node:timers(?:\/promises)?$/.test(specifier))
        .flatMap(({ names, line }) => names.map((name) => ({ name, line })))
        .filter(({ name }) => timerNames.includes(name))
        .map(({ name, line }) => ({ what: `imports ${name} of node:timers`, line }))
      return [...globalsNamed(file, timeNames), ...imported, ...timers]
    },
    refuses: [
      { path: 'src/pump/x.ts', text: 'const at = Date.now()' },
      { path: 'src/pump/x.ts', text: 'const read = Date.now' },
      { path: 'src/pump/x.ts', text: 'const at = new Date()' },
      { path: 'src/pump/x.ts', text: 'const at = Date()' },
      {
        path: 'src/pump/x.ts',
        text: `import { UTCDateMini } from '@date-fns/utc/date/mini'\nconst at = new UTCDateMini()`,
      },
      { path: 'src/state/sqlite/x.ts', text: 'globalThis.setTimeout(() => {}, 5)' },
      { path: 'src/sinks/file/x.ts', text: 'const timer = setInterval(() => {}, 5)' },
      { path: 'src/server/x.ts', text: 'const { now } = performance' },
      { path: 'src/server/x.ts', text: `const at = performance['now']()` },
      { path: 'src/server/x.ts', text: 'get(url, { signal: AbortSignal.timeout(5) })' },
      { path: 'src/server/x.ts', text: `import { setTimeout as sleep } from 'node:timers/promises'` },
      { path: 'src/server/x.ts', text: `import * as timers from 'node:timers'` },
      { path: 'src/server/x.ts', text: `import { performance } from 'node:perf_hooks'` },
    ],
    accepts: [
      { path: 'src/pump/x.ts', text: 'const at = new Date(clock.now()).toISOString()' },
      { path: 'src/pump/x.ts', text: 'socket.setTimeout(5); type Wait = typeof setTimeout' },
      { path: 'src/pump/x.ts', text: 'const at = Date.parse(text)' },
      { path: 'src/state/x.ts', text: `import { setImmediate } from 'node:timers/promises'` },
      { path: 'src/pump/x.ts', text: `const said = 'setTimeout(Date.now())' // Date.now()` },
    ],
  },
  {
    name: 'the environment is read once',
    remedy: 'make it a setting: config/load.ts reads the environment and hands values on',
    covers: (path) => inSource(path) && !readersOfEnvironment.includes(path),
    problemsOf(file) {
      const imported = file.imports
        .filter(({ specifier, names }) => specifier === 'node:process' && names.includes('env'))
        .map(({ line }) => ({ what: 'imports env', line }))
      return [...globalsNamed(file, ['process.env', 'process.env.', 'process.loadEnvFile']), ...imported]
    },
    refuses: [
      { path: 'src/cli.ts', text: 'const level = process.env.LOG_LEVEL' },
      { path: 'src/cli.ts', text: `const level = process.env['LOG_LEVEL']` },
      { path: 'src/cli.ts', text: `const level = process['env']` },
      { path: 'src/cli.ts', text: 'const { env } = process' },
      { path: 'src/cli.ts', text: 'load(globalThis.process.env)' },
      { path: 'src/cli.ts', text: `import { env } from 'node:process'` },
      { path: 'src/cli.ts', text: `import process from 'node:process'\nload(process.env)` },
    ],
    accepts: [
      { path: 'src/cli.ts', text: 'process.exitCode = 1; const { argv } = process; load(config.env)' },
    ],
  },
  {
    name: 'no global fetch',
    remedy: 'request through transport/: it knows proxies, limits, timeouts and redirects',
    covers: inSource,
    problemsOf: (file) => globalsNamed(file, ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest']),
    refuses: [
      { path: 'src/shield/x.ts', text: `await fetch('http://x')` },
      { path: 'src/shield/x.ts', text: `await globalThis.fetch('http://x')` },
      { path: 'src/shield/x.ts', text: 'const client = { fetch }' },
    ],
    accepts: [
      { path: 'src/shield/x.ts', text: 'await source.fetch(request)' },
      { path: 'src/shield/x.ts', text: 'const run = (fetch: () => void) => fetch()' },
    ],
  },
  {
    name: 'no console',
    remedy: 'results go to process.stdout, the rest to the Telemetry port',
    covers: inSource,
    problemsOf: (file) => globalsNamed(file, ['console', 'console.']),
    refuses: [
      { path: 'src/cli.ts', text: `console.log('x')` },
      { path: 'src/cli.ts', text: 'const say = console.error' },
    ],
    accepts: [{ path: 'src/cli.ts', text: `process.stdout.write('console.log')` }],
  },
  {
    name: 'no process.exit but in cli.ts',
    remedy:
      'throw, or set process.exitCode and let the work end: process.exit loses what still stands in the pipe of stdout',
    covers: (path) => inSource(path) && path !== 'src/cli.ts',
    problemsOf: (file) => globalsNamed(file, ['process.exit', 'process.abort', 'process.reallyExit']),
    refuses: [{ path: 'src/commands/x.ts', text: 'process.exit(1)' }],
    accepts: [
      { path: 'src/cli.ts', text: 'process.exit(130)' },
      { path: 'src/commands/x.ts', text: 'process.exitCode = 1' },
    ],
  },
  {
    name: 'no default export',
    remedy: 'export it by its one name; only tool configuration may export a default',
    covers: (path) => inSourceOrTest(path) && !path.endsWith('.config.ts'),
    problemsOf: ({ defaultExports }) =>
      defaultExports.map(({ line }) => ({ what: 'exports a default', line })),
    refuses: [
      { path: 'src/domain/x.ts', text: 'export default function x() {}' },
      { path: 'src/domain/x.ts', text: 'const x = 1\nexport { x as default }' },
    ],
    accepts: [{ path: 'src/domain/x.ts', text: 'export const x = 1' }],
  },
  {
    name: 'no re-export of whole modules',
    remedy: 'import each name from the file that has it',
    covers: inSource,
    problemsOf: ({ linesWithoutLiterals }) =>
      linesWithoutLiterals.flatMap((text, at) =>
        /^\s*export\s*\*/.test(text) ? [{ what: 'exports everything of another file', line: at + 1 }] : [],
      ),
    refuses: [{ path: 'src/domain/x.ts', text: `export * from './day.ts'` }],
    accepts: [{ path: 'src/domain/x.ts', text: `export const x = 'export * from'` }],
  },
  {
    name: 'nothing is left to be done',
    remedy: 'do it, or open an issue and leave the comment out',
    covers: inSourceOrTest,
    problemsOf: ({ linesWithoutLiterals }) =>
      linesWithoutLiterals.flatMap((text, at) => {
        const mark = /\b(?:TODO|FIXME|XXX|HACK)\b/.exec(text)?.[0]
        return mark === undefined ? [] : [{ what: `says ${mark}`, line: at + 1 }]
      }),
    refuses: [
      { path: 'src/domain/x.ts', text: '// TODO: later' },
      { path: 'test/x.test.ts', text: 'const x = 1 /* FIXME */' },
    ],
    accepts: [{ path: 'src/domain/x.ts', text: `const said = 'TODO' + /FIXME/.source` }],
  },
]
