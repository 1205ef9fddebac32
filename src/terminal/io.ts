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
  /** Calls back when `q` is pressed; returns a function that ends this. Absent without a terminal. */
  readonly onQuitKey?: (callback: () => void) => () => void
  /** Ends the process at once, even when something hangs. */
  exit(code: number): never
  /** Returns a function that ends this. */
  onHangup(callback: () => void): () => void
}

/** Where results go: to stderr where a command ships events to stdout, which keeps them apart. */
export function resultOutput(io: Io, sinks: readonly { readonly type: string }[]): Output {
  return sinks.some(({ type }) => type === 'stdout') ? io.stderr : io.stdout
}

/** What a command shows until the signal aborts, or `q` is pressed on a terminal. */
export async function untilQuit<T>(
  { signal, onQuitKey }: Pick<Io, 'signal' | 'onQuitKey'>,
  show: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const quit = new AbortController()
  const stopReading = onQuitKey?.(() => quit.abort())
  try {
    return await show(AbortSignal.any([signal, quit.signal]))
  } finally {
    stopReading?.()
  }
}

/** Wrong usage that the parser itself cannot detect. */
export class UsageError extends Error {}
