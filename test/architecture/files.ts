import { posix } from 'node:path'
import { inSourceOrTest, type Rule } from './rule.ts'

// prettier-ignore
const bannedNames = [
  'utils', 'util', 'helpers', 'helper', 'common', 'lib', 'misc', 'types', 'interfaces', 'manager', 'service', 'base', 'index',
]
// Also as a part of a name: `http-utils` is as empty a name as `utils`.
const bannedWords = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'manager']

function stemsOf(path: string): string[] {
  return path.split('/').map((each) => each.split('.')[0] ?? '')
}

export const files: readonly Rule[] = [
  {
    name: 'file names say what is inside',
    remedy: `name the file after the one thing that it exports, not: ${bannedNames.join(', ')}`,
    covers: inSourceOrTest,
    problemsOf: ({ path }) =>
      stemsOf(path)
        .filter(
          (stem) => bannedNames.includes(stem) || stem.split('-').some((word) => bannedWords.includes(word)),
        )
        .map((stem) => ({ what: `is named ${stem}` })),
    refuses: [
      { path: 'src/domain/utils.ts', text: '' },
      { path: 'src/sinks/http-utils.ts', text: '' },
      { path: 'src/sinks/index.ts', text: '' },
      { path: 'src/common/day.ts', text: '' },
      { path: 'test/helpers.test.ts', text: '' },
    ],
    accepts: [
      { path: 'src/domain/day.ts', text: '' },
      { path: 'src/domain/baseline.ts', text: '' },
    ],
  },
  {
    name: 'file names are kebab-case',
    remedy: 'write lower case words with hyphens: pump-stream.ts, pump-stream.test.ts',
    covers: inSourceOrTest,
    problemsOf: ({ path }) =>
      path
        .split('/')
        .filter((each) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.(?:test|contract|config|d))?(?:\.ts)?$/.test(each))
        .map((each) => ({ what: `${each} is not kebab-case` })),
    refuses: [
      { path: 'src/domain/pumpStream.ts', text: '' },
      { path: 'src/Domain/day.ts', text: '' },
      { path: 'src/domain/seen_window.ts', text: '' },
      { path: 'src/domain/day.spec.ts', text: '' },
    ],
    accepts: [
      { path: 'src/domain/pump-stream.ts', text: '' },
      { path: 'test/contract/sink.contract.ts', text: '' },
      { path: 'test/architecture.test.ts', text: '' },
    ],
  },
  {
    name: 'a test is where its subject is',
    remedy: 'put tests into test/, at the path of the file that they test',
    covers: inSourceOrTest,
    problemsOf: ({ path }) =>
      posix.basename(path).endsWith('.test.ts') && !path.startsWith('test/')
        ? [{ what: 'is a test in src/' }]
        : [],
    refuses: [{ path: 'src/domain/day.test.ts', text: '' }],
    accepts: [{ path: 'test/domain/day.test.ts', text: '' }],
  },
]
