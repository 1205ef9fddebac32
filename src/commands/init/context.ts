import { resolve } from 'node:path'
import type { Io } from '../io.ts'
import type { Asker } from './questions.ts'
import { isOfSection, parseAssignment, type Assignment } from './set.ts'

export interface InitOptions {
  readonly file?: string
  /** The file that -c names, where `--file` names none. */
  readonly config?: string
  readonly accessKeyFile?: string
  readonly zones?: string[]
  readonly destination?: string
  readonly path?: string
  readonly url?: string
  readonly set?: string[]
  readonly yes?: boolean
}

/** What every step of `init` needs. */
export interface InitContext {
  readonly options: InitOptions
  readonly io: Io
  /** Absent without a terminal. */
  readonly asker: Asker | undefined
  /** The file to write, absolute. */
  readonly file: string
  readonly cwd: string
  /** Settings of sections and of the sink, from `--set`. */
  readonly sections: readonly Assignment[]
  readonly ofSink: readonly Assignment[]
}

/** Throws UsageError. */
export function contextOf(options: InitOptions, io: Io): InitContext {
  const cwd = process.cwd()
  const { ask, askHidden, stderr, signal } = io
  const canAsk = options.yes !== true && ask !== undefined && askHidden !== undefined
  const assignments = (options.set ?? []).map(parseAssignment)
  return {
    options,
    io,
    asker: canAsk ? { ask, askHidden, stderr, signal } : undefined,
    file: resolve(cwd, options.file ?? options.config ?? 'shieldlog.yaml'),
    cwd,
    sections: assignments.filter(isOfSection),
    ofSink: assignments.filter((assignment) => !isOfSection(assignment)),
  }
}
