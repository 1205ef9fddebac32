import { inSource, type Rule } from './rule.ts'

// Who may import whom, besides the files of its own part. What is not here is not allowed.
const adapter = ['ports', 'domain']
const httpAdapter = [...adapter, 'transport']

// prettier-ignore
const adapters = [
  'shield', 'formats', 'sinks', 'sinks/registry.ts', 'sinks/stdout', 'sinks/file', 'sinks/http', 'sinks/syslog',
  'state', 'state/registry.ts', 'state/ledger', 'state/redis', 'state/sqlite', 'state/*',
  'schedule', 'schedule/registry.ts', 'schedule/local', 'schedule/bullmq',
  'server', 'telemetry', 'config', 'transport', 'redis', 'sqlite',
]

const mayImport: Readonly<Record<string, readonly string[]>> = {
  'cli.ts': ['commands', 'config', 'domain', 'ports'],
  // prettier-ignore
  commands: [
    'assemble', 'maintenance', 'status', 'discovery', 'shield', 'formats', 'sinks', 'telemetry', 'transport', 'server',
    'simulator', 'config', 'clock.ts', 'domain', 'ports',
  ],
  // prettier-ignore
  assemble: [
    ...adapters, 'pump', 'plan', 'maintenance', 'status', 'discovery', 'clock.ts', 'ports', 'domain',
  ],
  discovery: [...adapter, 'shield', 'config', 'pump'],
  shield: httpAdapter,
  formats: adapter,
  sinks: adapter,
  'sinks/registry.ts': [...httpAdapter, 'sinks', 'sinks/stdout', 'sinks/file', 'sinks/http', 'sinks/syslog'],
  'sinks/stdout': [...adapter, 'sinks'],
  'sinks/file': [...adapter, 'sinks', 'sqlite'],
  'sinks/http': [...httpAdapter, 'sinks'],
  'sinks/syslog': [...httpAdapter, 'sinks'],
  state: adapter,
  'state/ledger': [...adapter, 'state'],
  'state/sqlite': [...adapter, 'state', 'state/ledger', 'sqlite'],
  'state/registry.ts': [...adapter, 'state', 'state/redis', 'state/sqlite', 'state/*'],
  'state/redis': [...adapter, 'state', 'state/ledger', 'redis'],
  // Every other store.
  'state/*': [...adapter, 'state', 'state/ledger'],
  schedule: adapter,
  'schedule/registry.ts': [...adapter, 'schedule', 'schedule/local', 'schedule/bullmq'],
  'schedule/local': [...adapter, 'schedule'],
  'schedule/bullmq': [...adapter, 'schedule', 'redis'],
  server: adapter,
  telemetry: adapter,
  config: adapter,
  transport: adapter,
  redis: adapter,
  sqlite: adapter,
  // The live way knows nothing of maintenance, planning or status.
  pump: adapter,
  plan: [...adapter, 'pump'],
  maintenance: [...adapter, 'pump', 'plan'],
  status: [...adapter, 'pump', 'plan', 'maintenance'],
  simulator: [...adapter, 'clock.ts'],
  'clock.ts': adapter,
  ports: ['domain'],
  domain: [],
}

const splitParts = ['sinks', 'state', 'schedule']

// Single files that may do what their part may not.
const exceptions: readonly { from: RegExp; to: RegExp }[] = [
  { from: /^src\/config\/schema\/schema\.ts$/, to: /^src\/sinks\/[^/]+\/config\.ts$/ },
  // The settings of a sink are made of the same fields as all others; never the whole schema or its loading.
  {
    from: /^src\/sinks\/(?:[^/]+\/config|http\/(?:presets|protocol)\/[^/]+)\.ts$/,
    to: /^src\/config\/fields\/[^/]+\.ts$/,
  },
]

/** `src/sinks/http/presets/x.ts` → `sinks/http`: the longest part that holds it; undefined where the layout has none. */
export function partOf(path: string): string | undefined {
  const names = path.split('/').slice(1)
  const candidates = names.map((_, at) => names.slice(0, names.length - at).join('/'))
  const part = candidates.find((each) => Object.hasOwn(mayImport, each))
  if (part === undefined || !splitParts.includes(part) || names.length === 2) return part
  // A folder of the layout that is split has no folders of its own besides those, unless it says so.
  return Object.hasOwn(mayImport, `${part}/*`) ? `${part}/*` : undefined
}

export const arrows: readonly Rule[] = [
  {
    name: 'every file of src/ is in a part of the layout',
    remedy: `put it into one of: ${Object.keys(mayImport).join(', ')}`,
    covers: inSource,
    problemsOf: ({ path }) => (partOf(path) === undefined ? [{ what: 'is in no part' }] : []),
    refuses: [
      { path: 'src/core/x.ts', text: '' },
      { path: 'src/main.ts', text: '' },
      { path: 'src/schedule/cron/x.ts', text: '' },
    ],
    accepts: [
      { path: 'src/state/postgres/x.ts', text: '' },
      { path: 'src/sinks/http/presets/x.ts', text: '' },
      { path: 'src/clock.ts', text: '' },
    ],
  },
  {
    name: 'imports go down only, and adapters do not know each other',
    remedy:
      'take what you need as an argument through a port and let assemble/ bring the two together; ' +
      'what is pure belongs into domain/, what speaks HTTP to the outside into transport/, what speaks to Redis into redis/, to a SQLite file into sqlite/',
    covers: inSource,
    problemsOf({ path, imports }) {
      const from = partOf(path)
      if (from === undefined) return []
      return imports.flatMap(({ target, line }) => {
        if (target === undefined || !target.startsWith('src/')) return []
        const to = partOf(target)
        const allowed =
          to === from ||
          mayImport[from]?.includes(to ?? '') === true ||
          exceptions.some((each) => each.from.test(path) && each.to.test(target))
        return allowed ? [] : [{ what: `${from} imports ${target}`, line }]
      })
    },
    refuses: [
      { path: 'src/domain/x.ts', text: `import type { Clock } from '../ports/clock.ts'` },
      { path: 'src/pump/x.ts', text: `import { x } from '../shield/client.ts'` },
      { path: 'src/pump/x.ts', text: `import { x } from '../clock.ts'` },
      { path: 'src/pump/x.ts', text: `import { x } from '../maintenance/serve-request.ts'` },
      { path: 'src/plan/x.ts', text: `import { x } from '../status/status.ts'` },
      { path: 'src/shield/x.ts', text: `import type { X } from '../telemetry/metrics/metrics.ts'` },
      { path: 'src/sinks/file/x.ts', text: `export * from '../http/sink.ts'` },
      { path: 'src/sinks/file/x.ts', text: `import { x } from '../../transport/dispatcher.ts'` },
      { path: 'src/sinks/file/x.ts', text: `import { x } from '../registry.ts'` },
      { path: 'src/sinks/file/config.ts', text: `import { x } from '../../config/load/load.ts'` },
      { path: 'src/sinks/file/sink.ts', text: `import { x } from '../../config/fields/fields.ts'` },
      { path: 'src/sinks/http/presets/x.ts', text: `import { x } from '../../../config/schema/schema.ts'` },
      { path: 'src/sinks/slots.ts', text: `import { x } from './file/sink.ts'` },
      { path: 'src/state/sqlite/x.ts', text: `const x = await import('../redis/store.ts')` },
      { path: 'src/state/sqlite/x.ts', text: `import { x } from '../../redis/connection.ts'` },
      { path: 'src/sinks/http/x.ts', text: `import { x } from '../../sqlite/exclusive-lock.ts'` },
      { path: 'src/redis/x.ts', text: `import { x } from '../state/redis/store.ts'` },
      { path: 'src/config/load/load.ts', text: `import { x } from '../../sinks/file/config.ts'` },
      { path: 'src/config/schema/schema.ts', text: `import { x } from '../../sinks/file/sink.ts'` },
      { path: 'src/state/registry.ts', text: `import { x } from '../schedule/local/timers.ts'` },
      { path: 'src/simulator/x.ts', text: `import { x } from '../shield/schema.ts'` },
      { path: 'src/commands/x.ts', text: `import { x } from '../pump/pump-stream.ts'` },
      { path: 'src/cli.ts', text: `import { assemble } from './assemble/daemon.ts'` },
      { path: 'src/ports/x.ts', text: `type X = import('../pump/x.ts').X` },
    ],
    accepts: [
      { path: 'src/sinks/registry.ts', text: `import { x } from './file/sink.ts'` },
      { path: 'src/sinks/http/sink.ts', text: `import { x } from '../../transport/dispatcher.ts'` },
      { path: 'src/sinks/http/sink.ts', text: `import { x } from './presets/splunk.ts'` },
      { path: 'src/sinks/http/presets/x.ts', text: `import { x } from '../../../config/fields/fields.ts'` },
      { path: 'src/sinks/file/sink.ts', text: `import { x } from '../slots.ts'` },
      { path: 'src/sinks/file/identity.ts', text: `import { x } from '../../sqlite/exclusive-lock.ts'` },
      { path: 'src/state/redis/store.ts', text: `import { x } from '../../redis/connection.ts'` },
      { path: 'src/schedule/bullmq/queues.ts', text: `import { x } from '../../redis/connection.ts'` },
      { path: 'src/sinks/file/config.ts', text: `import { x } from '../../config/fields/fields.ts'` },
      { path: 'src/config/schema/schema.ts', text: `import { x } from '../../sinks/file/config.ts'` },
      { path: 'src/pump/x.ts', text: `import type { X } from '../ports/clock.ts'; import 'bullmq'` },
      { path: 'src/cli.ts', text: `import { x } from './commands/run.ts'` },
    ],
  },
  {
    name: 'src/ imports nothing outside src/',
    remedy: 'move what the product needs into src/; tests reach into src/, never the other way',
    covers: inSource,
    problemsOf: ({ imports }) =>
      imports
        .filter(({ target }) => target !== undefined && !target.startsWith('src/'))
        .map(({ specifier, line }) => ({ what: `imports ${specifier}`, line })),
    refuses: [
      { path: 'src/x.ts', text: `import { x } from '../test/setup/temp.ts'` },
      { path: 'src/commands/x.ts', text: `import x from '../../package.json' with { type: 'json' }` },
    ],
    accepts: [{ path: 'src/commands/x.ts', text: `import { x } from '../ports/clock.ts'` }],
  },
]
