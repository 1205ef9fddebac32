import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import type { Command } from 'commander'
import type { Needs } from '../config/needs.ts'
import type { Loaded } from '../config/load.ts'
import type { LogStream } from '../telemetry/logger.ts'

export interface Output extends LogStream {
  readonly rows?: number
  /** False also where NO_COLOR is set. */
  hasColors?(): boolean
}

/** The process as a command sees it: events and results go to stdout, everything else to stderr. */
export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  /** Aborts at the first SIGTERM or SIGINT; a second one ends the process at once, see `abortAtSignal`. */
  readonly signal: AbortSignal
  /** Whether stdout failed, mostly since its reader closed the pipe. Absent where that cannot happen. */
  readonly isOutputGone?: () => boolean
  readonly readInput?: () => Promise<string>
  /** Absent without a terminal. A secret is not shown while it is typed. */
  readonly ask?: (question: string, isSecret?: boolean) => Promise<string>
  /** Ends the process at once, even when something hangs. */
  exit(code: number): never
  /** Returns a function that ends this. */
  onHangup(callback: () => void): () => void
}

export const exitCodes = {
  done: 0,
  /** Failed, or completed in part. */
  failed: 1,
  usage: 2,
  /** `audit` could not compare. */
  blind: 3,
  configuration: 78,
} as const

/** Where results go: to stderr where a command ships events to stdout, which keeps them apart. */
export function resultOutput(io: Io, sinks: readonly { readonly type: string }[]): Output {
  return sinks.some(({ type }) => type === 'stdout') ? io.stderr : io.stdout
}

/** Wrong usage that the parser itself cannot detect. */
export class UsageError extends Error {}

export interface Registration {
  readonly program: Command
  /** With its name and description. */
  readonly command: Command
  readonly io: Io
  /** Sets the exit code; the default is 0. */
  readonly exit: (code: number) => void
  /** Loads the configuration that -c names, before or after the command. */
  readonly load: (command: Command, needs?: Needs) => Loaded
}

/** The npm scripts of package.json that start the program. */
const npmScripts = ['shieldlog', 'start', 'demo']

/** The program as the user called it, for hints, examples and errors; `shieldlog` where that name is on PATH. */
export function programName({
  script = process.argv[1] ?? '',
  npmScript = process.env['npm_lifecycle_event'] ?? '',
  folder = process.cwd(),
  path = process.env['PATH'] ?? '',
} = {}): string {
  if (!/[\\/]src[\\/]cli\.ts$/.test(script)) return 'shieldlog'
  if (npmScripts.includes(npmScript)) return 'npm run -s shieldlog --'
  // In the image, whose entry point names this file, users call it as `shieldlog`.
  if (isOnPath(script, path)) return 'shieldlog'
  const short = relative(folder, script)
  return `node ${short.startsWith('..') ? script : short}`
}

/** Whether `shieldlog` in one of the folders is a link to the script. */
function isOnPath(script: string, path: string): boolean {
  const links = path.split(delimiter).map((folder) => join(folder, 'shieldlog'))
  return links.some((link) => existsSync(link) && realpathSync(link) === realpathSync(script))
}

/** A command for the user to type, with the configuration file of this call: `shieldlog dead-letters list -c sim.yaml`. */
export function commandLine(command: string, file = configFileOf(process.argv)): string {
  return `${programName()} ${command}${file === undefined ? '' : ` -c ${quoted(file)}`}`
}

function configFileOf(argv: readonly string[]): string | undefined {
  const at = argv.findIndex((each) => each === '-c' || each === '--config')
  if (at !== -1) return argv[at + 1]
  return argv.find((each) => each.startsWith('--config='))?.slice('--config='.length)
}

/** For a shell. */
export function quoted(value: string): string {
  return /^[\w./:@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}

/** The end of a help text: one example a line, each the arguments of a call. */
export function example(...calls: readonly string[]): string {
  const title = calls.length === 1 ? 'Example' : 'Examples'
  return `\n${title}:\n${calls.map((call) => `  ${programName()} ${call}\n`).join('')}`
}
