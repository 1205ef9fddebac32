import { readdirSync } from 'node:fs'
import { defineConfig, type OxlintOverride } from 'oxlint'

type Pattern = ({ regex: string } | { group: string[] }) & { message: string; allowTypeImports?: boolean }

/**
 * Who may import whom, besides the files of its own part. What is not here is not allowed: take what you need as an
 * argument through a port, and let assemble/ bring the two together.
 */
const adapter = ['ports', 'domain']
const httpAdapter = [...adapter, 'transport']
const sinks = [
  'sinks/stdout',
  'sinks/file',
  'sinks/http',
  'sinks/syslog',
  'sinks/objects',
  'sinks/s3',
  'sinks/azure-blob',
  'sinks/kafka',
  'sinks/aws',
]
const stores = ['state/ledger', 'state/sqlite', 'state/redis']
const schedules = ['schedule/local', 'schedule/bullmq']
/** What ships events, and what reads them. */
const rooms = [
  'days',
  'status',
  'discovery',
  'shield',
  'formats',
  'sinks',
  'notify',
  'telemetry',
  'transport',
  'server',
]
/** A task a folder: none imports another one. */
const tasks = readdirSync(new URL('../src/tasks', import.meta.url), { withFileTypes: true })
  .filter((each) => each.isDirectory())
  .map(({ name }) => `tasks/${name}`)
/** What brings parts together may import. */
const below = ['state', ...stores, 'config', 'redis', 'sqlite', 'pump', 'plan', 'clock.ts', ...adapter]
const ofTasks = [
  'tasks',
  'terminal',
  'assemble',
  ...rooms,
  ...sinks,
  'plan',
  'pump',
  'schedule/local',
  'config',
  'fields',
  'clock.ts',
  ...adapter,
]

const mayImport: Readonly<Record<string, readonly string[]>> = {
  'cli.js': ['program'],
  // A link to it.
  'cli.ts': ['program'],
  program: ['tasks', ...tasks, 'terminal', 'assemble', 'config', 'telemetry', 'clock.ts', ...adapter],
  // What all tasks share: what a command is, and its options.
  tasks: ['terminal', 'assemble', 'formats', 'status', 'plan', 'config', 'fields', 'clock.ts', ...adapter],
  ...Object.fromEntries(tasks.map((task) => [task, ofTasks])),
  'tasks/audit': [...ofTasks, 'page'],
  'tasks/state': [...ofTasks, 'state/sqlite'],
  'tasks/run': [...ofTasks, 'process', 'simulator'],
  'tasks/simulate': [...ofTasks, 'simulator'],
  terminal: ['config', 'telemetry', 'clock.ts', ...adapter],
  process: ['upkeep', 'assemble', ...rooms, 'schedule', ...schedules, ...below],
  upkeep: ['days', 'telemetry', 'config', 'sinks/file', 'pump', 'plan', 'disk.ts', ...adapter],
  assemble: ['days', 'discovery', 'shield', 'formats', 'sinks', ...sinks, 'telemetry', 'transport', ...below],
  discovery: [...adapter, 'shield', 'config', 'pump'],
  shield: httpAdapter,
  formats: adapter,
  sinks: [...httpAdapter, ...sinks],
  'sinks/stdout': [...adapter, 'sinks', 'fields'],
  'sinks/file': [...adapter, 'sinks', 'sqlite', 'fields', 'disk.ts'],
  'sinks/aws': [...adapter, 'fields'],
  'sinks/http': [...httpAdapter, 'sinks', 'sinks/aws', 'fields'],
  'sinks/syslog': [...httpAdapter, 'sinks', 'fields'],
  'sinks/kafka': [...httpAdapter, 'sinks', 'fields'],
  'sinks/objects': [...httpAdapter, 'sinks', 'sinks/http', 'fields'],
  'sinks/azure-blob': [...httpAdapter, 'sinks', 'sinks/objects', 'sinks/http', 'fields'],
  'sinks/s3': [...httpAdapter, 'sinks', 'sinks/objects', 'sinks/aws', 'fields'],
  state: [...adapter, ...stores, 'redis'],
  'state/ledger': [...adapter, 'state'],
  'state/sqlite': [...adapter, 'state', 'sqlite', 'disk.ts'],
  'state/redis': [...adapter, 'state', 'redis'],
  schedule: [...adapter, ...schedules],
  'schedule/local': [...adapter, 'schedule'],
  'schedule/bullmq': [...adapter, 'schedule', 'redis'],
  notify: httpAdapter,
  page: [...adapter, 'status'],
  server: [...adapter, 'status', 'page'],
  telemetry: adapter,
  config: [...adapter, 'fields', ...sinks, 'shield'],
  // What a setting may be: for the file and for each kind of sink.
  fields: adapter,
  transport: adapter,
  redis: adapter,
  sqlite: adapter,
  pump: adapter,
  plan: [...adapter, 'pump'],
  days: [...adapter, 'pump', 'plan'],
  status: [...adapter, 'pump', 'plan', 'days'],
  simulator: [...adapter, 'clock.ts'],
  'clock.ts': adapter,
  // What a full disk lacks, for all that writes files.
  'disk.ts': adapter,
  ports: ['domain'],
  domain: [],
}

const time = 'take the Clock port: clock.now(), clock.monotonic(), clock.sleep(ms, signal)'
const dateFns = ['date-fns/*', '@date-fns/utc/date/mini']

/** Parts that may import a package; all others may not. Types of Node itself are allowed everywhere. */
const packages: readonly { name: string; parts: readonly string[]; instead: string }[] = [
  { name: 'bullmq', parts: ['schedule/bullmq'], instead: 'take the Schedule port' },
  { name: 'ioredis', parts: ['redis', 'state/redis', 'schedule/bullmq'], instead: 'take a port' },
  { name: 'prom-client', parts: ['telemetry'], instead: 'tell the Telemetry port what happened' },
  { name: 'pino', parts: ['telemetry'], instead: 'tell the Telemetry port what happened' },
  { name: '@opentelemetry/api', parts: ['telemetry'], instead: 'take the Tracer port' },
  {
    name: 'undici',
    parts: ['transport', 'shield', 'sinks/http', 'notify'],
    instead: 'request through transport/',
  },
  { name: '@platformatic/kafka', parts: ['sinks/kafka'], instead: 'configure a sink of type kafka' },
  { name: 'aws4fetch', parts: ['sinks/aws'], instead: 'sign with sinks/aws/signer.ts' },
  {
    name: '@aws-sdk/credential-provider-node',
    parts: ['sinks/aws'],
    instead: 'ask sinks/aws/credentials.ts',
  },
  {
    name: 'zod',
    parts: ['config', 'fields', 'shield', 'simulator', ...sinks],
    instead:
      'check foreign input where it comes in: config/, a config.ts beside its adapter, a preset, shield/ or simulator/',
  },
  {
    name: 'hyparquet',
    parts: ['sinks/objects'],
    instead: 'read Parquet by sinks/objects/parquet.ts',
  },
  {
    name: 'hyparquet-writer',
    parts: ['sinks/objects'],
    instead: 'write Parquet by sinks/objects/parquet.ts',
  },
  {
    name: 'protobufjs',
    parts: ['sinks/http'],
    instead: 'encode by sinks/http/presets/otlp-protobuf.ts',
  },
  { name: 'commander', parts: ['program', 'tasks', ...tasks], instead: 'take values' },
  { name: 'yaml', parts: ['config'], instead: 'read configuration text in config/' },
  { name: 'node:sqlite', parts: ['sqlite', 'state/sqlite', 'sinks/file'], instead: 'take the Store port' },
  { name: 'node:http', parts: ['server', 'simulator'], instead: 'request through transport/' },
  { name: 'node:https', parts: ['sinks/aws'], instead: 'request through transport/' },
  { name: 'node:process', parts: [], instead: 'use the global process' },
]

/** Parts that compute on values only, and what they may import besides relative files. */
const pure: Readonly<Record<string, readonly string[]>> = {
  domain: [...dateFns, 'node:crypto', 'node:net', 'node:util'],
  ports: [],
  pump: dateFns,
  plan: dateFns,
  status: dateFns,
  days: dateFns,
  formats: dateFns,
}

/** Functions of date-fns that ask the host for the time. */
const paths = [
  'isToday',
  'isTomorrow',
  'isYesterday',
  'isPast',
  'isFuture',
  'constructNow',
  'formatDistanceToNow',
  'isThisHour',
  'isThisISOWeek',
  'isThisMinute',
  'isThisMonth',
  'isThisQuarter',
  'isThisSecond',
  'isThisWeek',
  'isThisYear',
  'formatDistanceToNowStrict',
  'startOfToday',
  'startOfTomorrow',
  'startOfYesterday',
  'endOfToday',
  'endOfTomorrow',
  'endOfYesterday',
].map((name) => ({ name: `date-fns/${name}`, message: time }))
const timers = ['node:timers', 'node:timers/promises'].map((name) => ({
  name,
  importNames: ['setTimeout', 'setInterval', 'scheduler'],
  message: time,
}))
const readersOfTime = ['clock.ts', 'schedule/local']

const everywhere = [
  {
    regex: '^date-fns$|^@date-fns/utc$|^date-fns/(?:parse|fp|locale)(?:/|$)',
    message:
      "import by subpath, 'date-fns/addDays', and UTCDateMini from '@date-fns/utc/date/mini': the root costs start and memory",
  },
]

const parts = Object.keys(mayImport)
const isFile = (part: string): boolean => /\.[jt]s$/.test(part)
const isSplit = (part: string): boolean => parts.some((other) => other.startsWith(`${part}/`))

/** What a file of `part` that lies `below` folders deeper may not import, as patterns of the specifiers that it would write. */
function forbiddenIn(part: string, below: number): Pattern[] {
  const folders = isFile(part) ? [] : part.split('/')
  const depth = folders.length + below
  const allowed = [part, ...(mayImport[part] ?? [])]
  const upward = parts
    .filter((other) => !allowed.includes(other))
    .map((other) => {
      const names = other.split('/')
      const shared = names.findIndex((name, at) => name !== folders[at])
      const common = shared === -1 ? names.length : shared
      const up = depth === common ? '\\./' : '\\.\\./'.repeat(depth - common)
      const rest = names.slice(common).map((name) => name.replace('.', '\\.') + (isFile(other) ? '' : '/'))
      return `${up}${rest.join('')}${isFile(other) ? '$' : isSplit(other) ? '[^./][^/]*$' : '[^.]'}`
    })
  const foreign = packages
    .filter((each) => !each.parts.includes(part))
    .map(({ name, instead }) => ({
      regex: `^${name}(?:/|$)`,
      message: instead,
      ...(name.startsWith('node:') && { allowTypeImports: true }),
    }))
  return [
    {
      regex: `^(?:${upward.join('|')})`,
      message: 'imports go down only: take it through a port, and let assemble/ bring the two together',
    },
    { regex: `^${'\\.\\./'.repeat(depth + 1)}`, message: 'src/ imports nothing outside src/' },
    ...(pure[part] === undefined ? [] : impure(pure[part])),
    ...foreign,
    ...everywhere,
  ]
}

function impure(packagesOfPart: readonly string[]): Pattern[] {
  const group = ['*', '*/**', '!.', '!..', '!./**', '!../**', ...packagesOfPart.map((name) => `!${name}`)]
  return [{ group, message: 'this part computes on values only; take the rest through a port' }]
}

const importRules = parts.flatMap((part) =>
  (isFile(part) ? [''] : ['/*.ts', '/*/*.ts', '/*/*/*.ts']).map((below, at): OxlintOverride => ({
    files: [`**/src/${part}${below}`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: readersOfTime.includes(part) ? paths : [...paths, ...timers],
          patterns: forbiddenIn(part, at),
        },
      ],
    },
  })),
)

const readersOfEnvironment = [
  '**/src/tasks/run/command.ts',
  '**/src/config/load.ts',
  '**/src/transport/proxies.ts',
  '**/src/tasks/init/*.ts',
  '**/src/terminal/{live,program-name}.ts',
  // Azure tells a process in its environment where its identity is.
  '**/src/sinks/azure-blob/identities.ts',
  // The variables of a proxy, for requests that the SDK of AWS makes.
  '**/src/sinks/aws/credentials.ts',
]

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'import', 'oxc', 'promise'],
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/await-thenable': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/prefer-promise-reject-errors': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    'typescript/use-unknown-in-catch-callback-variable': 'error',
    'typescript/restrict-plus-operands': 'error',
    'typescript/strict-boolean-expressions': 'error',
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/no-deprecated': 'error',
    'typescript/consistent-type-imports': 'error',
    eqeqeq: 'error',
    'no-var': 'error',
    'prefer-const': 'error',
    'no-param-reassign': 'error',
    'no-else-return': 'error',
    'array-callback-return': 'error',
    'max-depth': ['error', 4],
    'unicorn/prefer-node-protocol': 'error',
    'unicorn/error-message': 'error',
    'import/no-cycle': 'error',
    'no-console': 'error',
    'typescript/no-unsafe-type-assertion': 'off',
    'typescript/unbound-method': 'off',
    'import/no-named-as-default-member': 'off',
    'import/no-unassigned-import': 'off',
    'no-await-in-loop': 'off',
    'no-shadow': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/no-array-reverse': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'import/no-default-export': 'error',
    'no-warning-comments': 'error',
    'unicorn/filename-case': 'error',
  },
  overrides: [
    {
      files: ['**/src/**'],
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: [{ regex: '.', message: 'put the file into a part of the layout' }] },
        ],
        'import/no-cycle': ['error', { ignoreTypes: false }],
        'max-lines-per-function': ['error', { max: 120 }],
        'max-params': ['error', { max: 5 }],
        'unicorn/no-process-exit': 'error',
        'no-restricted-globals': [
          'error',
          { name: 'fetch', message: 'request through transport/' },
          { name: 'setTimeout', message: time },
          { name: 'setInterval', message: time },
          { name: 'performance', message: time },
        ],
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: time },
          { object: 'AbortSignal', property: 'timeout', message: time },
          { object: 'process', property: 'hrtime', message: time },
          { object: 'process', property: 'uptime', message: time },
          {
            object: 'process',
            property: 'env',
            message: 'make it a setting: config/load.ts reads the environment',
          },
        ],
      },
    },
    ...importRules,
    {
      files: readersOfTime.map((part) => `**/src/${part}${isFile(part) ? '' : '/**'}`),
      rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' },
    },
    { files: readersOfEnvironment, rules: { 'no-restricted-properties': 'off' } },
    { files: ['**/src/cli.*'], rules: { 'unicorn/no-process-exit': 'off' } },
    { files: ['**/*.config.ts'], rules: { 'import/no-default-export': 'off' } },
    // It runs in a browser, whose types the compiler does not have here.
    {
      files: ['**/src/page/page.js'],
      rules: {
        'no-restricted-globals': 'off',
        'no-restricted-properties': 'off',
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
        'typescript/strict-boolean-expressions': 'off',
      },
    },
    {
      files: ['**/test/**'],
      plugins: ['vitest'],
      rules: {
        'typescript/no-unsafe-assignment': 'off',
        'vitest/no-focused-tests': 'error',
        'vitest/no-identical-title': 'error',
        'vitest/valid-describe-callback': 'error',
        'vitest/valid-expect': ['error', { maxArgs: 2 }],
        'vitest/expect-expect': 'off',
        'vitest/no-standalone-expect': 'off',
        'vitest/no-conditional-expect': 'off',
        'vitest/no-conditional-tests': 'off',
        'vitest/require-mock-type-parameters': 'off',
        'vitest/require-to-throw-message': 'off',
      },
    },
  ],
  ignorePatterns: ['dist/**', 'coverage/**'],
})
