import type { Command } from 'commander'
import type { Loaded } from '../config/load/load.ts'
import type { Io } from './io.ts'

/** Wrong usage that the parser itself cannot see. */
export class UsageError extends Error {}

/** What every command's file gets to register itself with. */
export interface Registration {
  readonly program: Command
  readonly io: Io
  /** Sets the exit code; 0 unless a command says otherwise. */
  readonly exit: (code: number) => void
  /** Loads the configuration that -c names, before or after the command. */
  readonly load: (
    command: Command,
    needs?: 'zones' | 'key' | 'nothing',
    overrides?: Record<string, string>,
  ) => Loaded
}
