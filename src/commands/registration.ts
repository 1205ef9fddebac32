import type { Command } from 'commander'
import type { Needs } from '../config/load/checks.ts'
import type { Loaded } from '../config/load/load.ts'
import type { Io } from './io.ts'

/** Wrong usage that the parser itself cannot detect. */
export class UsageError extends Error {}

/** What the file of a command needs to register the command. */
export interface Registration {
  readonly program: Command
  /** The command, with its name and description. */
  readonly command: Command
  readonly io: Io
  /** Sets the exit code; the default is 0. */
  readonly exit: (code: number) => void
  /** Loads the configuration that -c names, before or after the command. */
  readonly load: (command: Command, needs?: Needs, overrides?: Record<string, string>) => Loaded
}
