import type { Command } from 'commander'
import type { Work, WorkNeeds } from '../assemble/work.ts'
import type { Needs } from '../config/needs.ts'
import type { Loaded } from '../config/load.ts'
import type { Io } from '../terminal/io.ts'

export const exitCodes = {
  done: 0,
  /** Failed, or completed in part. */
  failed: 1,
  usage: 2,
  /** `audit` could not compare. */
  blind: 3,
  /** A file that a setting names is not there yet, or is empty: worth another try. */
  absent: 75,
  configuration: 78,
} as const

export interface Registration {
  readonly program: Command
  /** With its name and description. */
  readonly command: Command
  readonly io: Io
  /** Sets the exit code; the default is 0. */
  readonly exit: (code: number) => void
  /** Runs another command of the program; its exit code. */
  readonly call: (argv: readonly string[]) => Promise<number>
  /** Loads the configuration that -c names, before or after the command. */
  readonly load: (command: Command, needs?: Needs) => Loaded
  /** The same, and opens what the command works with; `await using` closes it. Throws Failure. */
  readonly open: (command: Command, needs: Needs, opened: WorkNeeds) => Promise<Work>
}
