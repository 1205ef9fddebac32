import { once } from 'node:events'
import { flushCompileCache } from 'node:module'
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CommanderError } from 'commander'
import type { flushSpans as flush } from '../telemetry/tracing.ts'
import { systemCode } from '../domain/text/system-error.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { systemClock } from '../clock.ts'
import { ConfigErrors } from '../config/errors.ts'
import { Failure, messageOf } from '../domain/failure.ts'
import { exitCodes } from '../tasks/command.ts'
import { programName } from '../terminal/program-name.ts'
import { type Io, UsageError } from '../terminal/io.ts'
import { createProgram } from './program.ts'
import { ask, onQuitKey } from '../terminal/ask.ts'
import { wrapped } from '../terminal/text.ts'
import type { Clock } from '../ports/process.ts'

/** Time limit for the trace collector. After a stop signal the remaining time is short. */
const flushMs = 2_000
const flushAfterStopMs = 500
/** Time limit for a reader of stdout that has stopped reading: what it has not read was not acknowledged either. */
const readAfterStopMs = 250

/** What `main` cannot know of the process. */
interface Start {
  /** Ends the process at once, for a second signal and for a stop that hangs. */
  exit(code: number): never
  /** A SIGHUP has arrived since the start of the process. */
  hasHungUp(): boolean
}

export async function main(argv: readonly string[], start: Start): Promise<number> {
  const output = watchOutput()
  const io = { ...processIo(start), isOutputGone: output.isGone }
  let flushSpans: typeof flush | undefined
  // Loaded before the command runs: the files of a process that runs for weeks may be replaced meanwhile.
  const code = await execute(argv, io, async () => {
    ;({ flushSpans } = await import('../telemetry/tracing.ts'))
    // Not only at the end, where a process that is killed writes nothing.
    flushCompileCache()
  })
  await flushSpans?.(io.signal.aborted ? flushAfterStopMs : flushMs, systemClock)
  const lost = await output.lost(io.signal)
  if (lost === undefined) return code
  process.stderr.write(`stdout cannot be written: ${messageOf(lost)}\n`)
  return code === exitCodes.done ? exitCodes.failed : code
}

/** A reader that closed the pipe (`| head`) or its terminal is not an error; a full disk is. */
function watchOutput(): { isGone(): boolean; lost(signal: AbortSignal): Promise<Error | undefined> } {
  let first: Error | undefined
  process.stdout.on('error', (error: Error) => (first ??= error))
  process.stderr.on('error', () => undefined)
  return {
    isGone: () => first !== undefined,
    async lost(signal) {
      // The last write may still fail.
      const written = new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
      await Promise.race([written, stopped(signal)])
      const whenClosed = process.stdout.isTTY ? 'EIO' : 'EPIPE'
      return first === undefined || systemCode(first) === whenClosed ? undefined : first
    },
  }
}

async function stopped(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
  await systemClock.sleep(readAfterStopMs, new AbortController().signal)
}

/** Calls `beforeAction` once the arguments are parsed and a command is about to run. */
export async function execute(
  argv: readonly string[],
  io: Io,
  beforeAction: () => Promise<void> = async () => undefined,
): Promise<number> {
  let code: number = exitCodes.done
  try {
    const program = await createProgram(io, (next) => void (code = next), argv)
    program.hook('preAction', beforeAction)
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    return explain(error, io, code)
  }
}

/** Prints one line for an expected error; a stack only for a bug. A stopped command keeps its code. */
function explain(error: unknown, io: Io, stopped: number): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (io.signal.aborted) return stopped
  const tell = (text: string, code: number) => {
    io.stderr.write(wrapped(`${text}\n`, io.stderr))
    return code
  }
  if (error instanceof ConfigErrors) {
    const isKeyMissing = error.errors.some(
      ({ path, value }) => path === 'api.accessKey' && value === undefined,
    )
    const hints = [
      error.searched.length > 0 && `to write a configuration file: ${programName()} init`,
      `to try it without an account: ${programName()} demo`,
    ]
    const lines = [error.message, ...(isKeyMissing ? hints.filter(Boolean) : [])]
    return tell(lines.join('\n'), error.mayPass ? exitCodes.absent : exitCodes.configuration)
  }
  if (error instanceof UsageError) return tell(`error: ${error.message}`, exitCodes.usage)
  if (error instanceof Failure) return tell(printable(messageOf(error)), exitCodes.failed)
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const lines = text.split('\n').map((line) => printable(line))
  io.stderr.write(`this is a bug in shieldlog; please report it:\n${lines.join('\n')}\n`)
  return exitCodes.failed
}

function processIo({ exit, hasHungUp }: Start): Io {
  const signal = abortAtSignal(process, systemClock, exit)
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    signal,
    readInput: () => text(addAbortSignal(signal, process.stdin)),
    ...(process.stdin.isTTY &&
      process.stderr.isTTY && {
        ask: (question: string, isSecret?: boolean) => ask(question, signal, isSecret),
      }),
    ...(process.stdin.isTTY && { onQuitKey }),
    exit,
    onHangup(callback) {
      // That of a closed terminal has stopped the process.
      const listener = () => signal.aborted || callback()
      process.on('SIGHUP', listener)
      if (hasHungUp()) listener()
      return () => process.off('SIGHUP', listener)
    },
  }
}

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const
type StopSignal = keyof typeof signalNumbers

/**
 * A repeat of the same signal within this time is ignored. Ctrl-C in a terminal reaches both npm and the command that
 * it runs, and npm forwards it: the command gets two signals, some milliseconds apart.
 */
const sameSignalMs = 1_000

/** Aborts at the first SIGINT or SIGTERM; a second one ends the process at once with 128 plus its number. */
export function abortAtSignal(
  from: { on(name: StopSignal, callback: () => void): unknown },
  clock: Pick<Clock, 'monotonic'>,
  exit: (code: number) => unknown,
): AbortSignal {
  const abort = new AbortController()
  let first: { readonly name: StopSignal; readonly atMs: number } | undefined
  const received = (name: StopSignal) => {
    if (first === undefined) {
      first = { name, atMs: clock.monotonic() }
      abort.abort(name)
    } else if (name !== first.name || clock.monotonic() - first.atMs >= sameSignalMs)
      exit(128 + signalNumbers[name])
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) from.on(name, () => received(name))
  return abort.signal
}
