import type { Registration } from './registration.ts'

export interface ListedCommand {
  /** One line of the help. */
  readonly description: string
  /** Its argument, if any. */
  readonly argument?: string
  /** Loads the file of the command; the result adds its options and what it does. */
  readonly register: () => Promise<(registration: Registration) => void>
}

/** All commands by name, in the order of the help. The help needs only this list, not the files of the commands. */
export const listedCommands: Readonly<Record<string, ListedCommand>> = {
  run: {
    description: 'ship events until stopped',
    register: async () => (await import('./run.ts')).registerRun,
  },
  demo: {
    description: 'run everything against the simulator: no key, file or server needed',
    register: async () => (await import('./try/demo.ts')).registerDemo,
  },
  backfill: {
    description: 'read past days again and ship what is missing',
    register: async () => (await import('./backfill/backfill.ts')).registerBackfill,
  },
  status: {
    description: 'show each zone and sink: state, lag, events, last error',
    register: async () => (await import('./status/status.ts')).registerStatus,
  },
  check: {
    description: 'try what run does: configuration, API, state, port and sinks',
    register: async () => (await import('./check/check.ts')).registerCheck,
  },
  fetch: {
    description: 'print events of a day, without using the state',
    register: async () => (await import('./look/fetch.ts')).registerFetch,
  },
  tail: {
    description: 'print events as they come, until stopped, without using the state',
    register: async () => (await import('./look/tail.ts')).registerTail,
  },
  top: {
    description: 'count recent events by rule, address, country, ASN, URL or action',
    register: async () => (await import('./look/top.ts')).registerTop,
  },
  audit: {
    description: 'read days again and compare them with what was shipped',
    register: async () => (await import('./audit/audit.ts')).registerAudit,
  },
  'dead-letters': {
    description: 'list, show, export, replay or drop the events that a sink refused',
    register: async () => (await import('./dead-letters/dead-letters.ts')).registerDeadLetters,
  },
  gaps: {
    description: 'list or acknowledge the days of which events were lost',
    register: async () => (await import('./gaps.ts')).registerGaps,
  },
  zones: {
    description: 'list the shield zones of the account',
    register: async () => (await import('./api/zones.ts')).registerZones,
  },
  init: {
    description: 'write a commented configuration, from questions or options',
    register: async () => (await import('./init/init.ts')).registerInit,
  },
  state: {
    description: 'change names in the store',
    register: async () => (await import('./state.ts')).registerState,
  },
  simulate: {
    description: 'serve the simulator of the API and print its address',
    register: async () => (await import('./try/simulate.ts')).registerSimulate,
  },
  config: {
    description: 'show the effective settings, or all possible settings',
    register: async () => (await import('./config.ts')).registerConfig,
  },
  'rate-limit': {
    description: 'change rate limit rules',
    register: async () => (await import('./api/rate-limit.ts')).registerRateLimit,
  },
  'upload-scanning': {
    description: 'print what upload scanning did in zones in the past 28 days',
    register: async () => (await import('./api/upload-scanning.ts')).registerUploadScanning,
  },
  volumes: {
    description: 'print the volumes of a container application and how full they are',
    register: async () => (await import('./api/volumes.ts')).registerVolumes,
  },
  health: {
    description: 'for probes: exit 0 while /healthz of the configured server answers',
    register: async () => (await import('./health.ts')).registerHealth,
  },
  completion: {
    description: 'print a completion script for a shell',
    argument: '<shell>',
    register: async () => (await import('./completion/completion.ts')).registerCompletion,
  },
}
