import { inSource, type Rule } from './rule.ts'

// Where a package may be imported. A package, or subpath of it, that is not listed may be imported everywhere but in the pure parts.
const homes: readonly { readonly package: string; readonly home: RegExp; readonly remedy: string }[] = [
  {
    package: 'bullmq',
    home: /^src\/schedule\/bullmq\//,
    remedy: 'the queue is known to schedule/bullmq/ only; others take the Schedule port',
  },
  {
    package: 'ioredis',
    home: /^src\/(?:redis|state\/redis|schedule\/bullmq)\//,
    remedy: 'Redis is known to redis/, state/redis/ and schedule/bullmq/ only; others take a port',
  },
  {
    package: 'prom-client',
    home: /^src\/telemetry\//,
    remedy: 'tell the Telemetry port what happened; telemetry/ turns it into metrics',
  },
  {
    package: 'pino',
    home: /^src\/telemetry\//,
    remedy: 'tell the Telemetry port what happened; telemetry/ turns it into log lines',
  },
  {
    package: '@opentelemetry/api',
    home: /^src\/telemetry\//,
    remedy: 'tell the Telemetry port what happened; telemetry/ turns it into spans',
  },
  {
    package: 'undici',
    home: /^src\/(?:transport|shield|sinks\/http)\//,
    remedy: 'HTTP to the outside goes through transport/, for shield/ and sinks/http/ only',
  },
  {
    package: 'zod',
    home: /^src\/(?:config\/|shield\/|simulator\/|sinks\/http\/(?:presets|protocol)\/|(?:.*\/)?config\.ts$)/,
    remedy:
      'check foreign input where it comes in: config/, a config.ts beside its adapter, a preset, shield/ or simulator/',
  },
  {
    package: 'commander',
    home: /^src\/(?:cli\.ts$|commands\/)/,
    remedy: 'arguments are read in cli.ts and commands/ only; others take values',
  },
  { package: 'yaml', home: /^src\/config\//, remedy: 'configuration text is read in config/ only' },
  {
    package: 'node:sqlite',
    home: /^src\/(?:sqlite|state\/sqlite|sinks\/file)\//,
    remedy:
      'take the Store port; SQLite is known to sqlite/, state/sqlite/ and to the writer locks of sinks/file/',
  },
  {
    package: 'node:http',
    home: /^src\/(?:server|simulator)\//,
    remedy: 'requests go through transport/; only server/ and simulator/ listen',
  },
  { package: 'node:https', home: /^$/, remedy: 'requests go through transport/' },
  { package: 'node:process', home: /^$/, remedy: 'use the global process, where it may be used at all' },
]

// Pure parts: what they may import besides relative files. An empty list is meant.
const pure: readonly { readonly part: RegExp; readonly packages: RegExp }[] = [
  { part: /^src\/domain\/text\/secret\.ts$/, packages: /^node:util$/ },
  // A fingerprint is a cryptographic hash: pure, and not to be written by hand.
  { part: /^src\/domain\/event\/fingerprint\.ts$/, packages: /^node:crypto$/ },
  { part: /^src\/domain\//, packages: /^(?:date-fns\/\w+|@date-fns\/utc\/date\/mini)$/ },
  {
    part: /^src\/(?:pump|plan|status|maintenance|formats)\//,
    packages: /^(?:date-fns\/\w+|@date-fns\/utc\/date\/mini)$/,
  },
  { part: /^src\/ports\//, packages: /^$/ },
]

// Functions of date-fns that ask the host for the time.
const readsTime =
  /^date-fns\/(?:is(?:Today|Tomorrow|Yesterday|Past|Future|This\w+)|(?:startOf|endOf)(?:Today|Tomorrow|Yesterday)|formatDistanceToNow\w*|constructNow)$/

const isPackage = (specifier: string, name: string): boolean =>
  specifier === name || specifier.startsWith(`${name}/`)

export const packages: readonly Rule[] = [
  ...homes.map(({ package: name, home, remedy }): Rule => ({
    name: `${name} stays at home`,
    remedy,
    covers: (path) => inSource(path) && !home.test(path),
    problemsOf: ({ imports }) =>
      imports
        .filter(({ specifier }) => isPackage(specifier, name))
        // The shapes of Node itself tie nobody to anything; those of a package do.
        .filter(({ specifier, isType }) => !(isType && specifier.startsWith('node:')))
        .map(({ specifier, line }) => ({ what: `imports ${specifier}`, line })),
    refuses: [
      { path: 'src/pump/x.ts', text: `import { x } from '${name}'` },
      ...(name.startsWith('node:')
        ? []
        : [{ path: 'src/pump/x.ts', text: `import type { X } from '${name}'` }]),
      { path: 'src/server/x.ts', text: `import { X } from '${name}/sub'` },
    ].filter(({ path }) => !home.test(path)),
    accepts: [{ path: 'src/pump/x.ts', text: `import { x } from '${name}-other'` }],
  })),
  {
    name: 'pure parts import no package',
    remedy:
      'domain/, formats/, pump/ and ports/ compute on values only (date-fns by subpath and @date-fns/utc/date/mini may help); take the rest through a port',
    covers: (path) => pure.some(({ part }) => part.test(path)),
    problemsOf: ({ path, imports }) =>
      imports
        .filter(({ target }) => target === undefined)
        .filter(
          ({ specifier }) => !pure.some((each) => each.part.test(path) && each.packages.test(specifier)),
        )
        .map(({ specifier, line }) => ({ what: `imports ${specifier}`, line })),
    refuses: [
      { path: 'src/domain/x.ts', text: `import { readFile } from 'node:fs/promises'` },
      { path: 'src/domain/x.ts', text: `import { hash } from 'node:crypto'` },
      { path: 'src/pump/x.ts', text: `import { setImmediate } from 'node:timers/promises'` },
      { path: 'src/formats/ecs.ts', text: `import { z } from 'zod'` },
      { path: 'src/ports/x.ts', text: `import type { Readable } from 'node:stream'` },
    ],
    accepts: [
      { path: 'src/domain/text/secret.ts', text: `import { inspect } from 'node:util'` },
      { path: 'src/domain/day.ts', text: `import { addDays } from 'date-fns/addDays'` },
      { path: 'src/formats/ecs.ts', text: `import { UTCDateMini } from '@date-fns/utc/date/mini'` },
    ],
  },
  {
    name: 'date-fns by subpath, never its root, never parse',
    remedy:
      "import { addDays } from 'date-fns/addDays' (the root takes hundreds of MB, so does parse: use date-fns/parseISO), and give it the UTCDateMini of '@date-fns/utc/date/mini' (the root makes three formatters at each start)",
    covers: inSource,
    problemsOf: ({ imports }) =>
      imports
        .filter(
          ({ specifier }) =>
            specifier === 'date-fns' ||
            specifier === '@date-fns/utc' ||
            /^date-fns\/(?:parse|fp|locale)\b/.test(specifier),
        )
        .filter(({ specifier }) => !/^date-fns\/parse(?:ISO|JSON)$/.test(specifier))
        .map(({ specifier, line }) => ({ what: `imports ${specifier}`, line })),
    refuses: [
      { path: 'src/domain/x.ts', text: `import { addDays } from 'date-fns'` },
      { path: 'src/domain/x.ts', text: `import { parse } from 'date-fns/parse'` },
      { path: 'src/config/x.ts', text: `import { de } from 'date-fns/locale'` },
      { path: 'src/domain/x.ts', text: `import { UTCDate } from '@date-fns/utc'` },
    ],
    accepts: [
      { path: 'src/domain/x.ts', text: `import { parseISO } from 'date-fns/parseISO'` },
      { path: 'src/domain/x.ts', text: `import { UTCDateMini } from '@date-fns/utc/date/mini'` },
    ],
  },
  {
    name: 'no function of date-fns that reads the time of the host',
    remedy: 'pass the instant in: compare with clock.now()',
    covers: inSource,
    problemsOf: ({ imports }) =>
      imports
        .filter(({ specifier }) => readsTime.test(specifier))
        .map(({ specifier, line }) => ({ what: `imports ${specifier}`, line })),
    refuses: [
      { path: 'src/domain/x.ts', text: `import { isToday } from 'date-fns/isToday'` },
      { path: 'src/domain/x.ts', text: `import { isThisHour } from 'date-fns/isThisHour'` },
    ],
    accepts: [{ path: 'src/domain/x.ts', text: `import { isSameDay } from 'date-fns/isSameDay'` }],
  },
]
