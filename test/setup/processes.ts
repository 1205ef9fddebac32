import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { guardProcess } from './guard.ts'
import { own } from './leftovers.ts'
import { compiledPrograms, programFile, type ProgramName } from './program/program-file.ts'
import { projectFolder } from './project-folder.ts'
import { patienceMs, waitFor } from './wait-for.ts'

export interface ProcessOptions {
  readonly cwd?: string
  /** Added to the environment of the test; undefined takes a name away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Written to standard input, which then ends. Without it there is none. */
  readonly input?: string
  /** Standard input stays open for `type`. */
  readonly keyboard?: boolean
  /** False: the kind of set-up that is ended without a word when its owner ends. Default true: leaving it is a fault. */
  readonly mustEnd?: boolean
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export type TestProcess = ReturnType<typeof startProcess>

/**
 * Starts `node <script> <args>` on the Node that runs the tests. What Node makes of the sources is kept, as the command
 * keeps it for itself: a start then takes half the CPU time.
 */
export function startNode(args: readonly string[], options: ProcessOptions = {}) {
  const env = { NODE_COMPILE_CACHE: `${projectFolder}node_modules/.cache/shieldlog-tests`, ...options.env }
  return startProcess(process.execPath, args, { ...options, env })
}

/**
 * Most processes of tests end within a second: with room for what they allocate they collect no garbage before, and the
 * parser of HTTP answers is compiled once instead of twice.
 */
const forShortLives = ['--min-semi-space-size=16', '--liftoff-only']

/** Starts `node src/cli.ts <args>`, from the bundle of this run. */
export function startCli(args: readonly string[], options: ProcessOptions = {}) {
  return startProgram('cli', args, options)
}

/** Starts the program, or one of the tests' own entries, from the bundle of this run. */
export function startProgram(name: ProgramName, args: readonly string[], options: ProcessOptions = {}) {
  const env = { ...compiledPrograms(), ...options.env }
  return startProcess(process.execPath, [...forShortLives, programFile(name), ...args], { ...options, env })
}

/** A child process whose output is kept whole. Usable with `await using`, which kills it. */
export function startProcess(command: string, args: readonly string[], options: ProcessOptions = {}) {
  const called = [command, ...args].join(' ')
  const child = spawn(command, args, {
    cwd: options.cwd ?? projectFolder,
    env: { ...process.env, ...options.env },
    stdio: [options.input === undefined && options.keyboard !== true ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  guardProcess(child)
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin?.on('error', () => {}) // It may end before it has read its input.
  if (options.keyboard !== true) child.stdin?.end(options.input)

  let startError: Error | undefined
  child.on('error', (error) => (startError = error))
  const exited = (async (): Promise<Exit> => {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    return { code, signal }
  })()
  let ended = false
  const end = (): void => void (ended = true)
  exited.then(end, end) // Whoever else waits for it gets the error too.

  const isRunning = (): boolean =>
    child.pid !== undefined && child.exitCode === null && child.signalCode === null
  const output = (): string => `${called}\n--- stdout\n${stdout}\n--- stderr\n${stderr}`

  /** Sends the signal and waits for the end. Quiet when it has ended. SIGSTOP and SIGCONT do not wait. */
  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit | undefined> {
    if (isRunning()) child.kill(signal)
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') return undefined
    return await exited
  }

  /** The match of the first whole or last partial line, of either output and from its beginning, that fits. */
  async function waitForLine(pattern: RegExp, timeoutMs = patienceMs): Promise<RegExpMatchArray> {
    let searched = -1
    const find = (): RegExpMatchArray | undefined => {
      const length = stdout.length + stderr.length
      if (length === searched) return undefined
      searched = length
      for (const line of [...stdout.split('\n'), ...stderr.split('\n')]) {
        const match = line.match(pattern)
        if (match !== null) return match
      }
      return undefined
    }
    const found = await waitFor(
      () => {
        const wasEnded = ended // Before the search, so that the last lines of an ended process count.
        return find() ?? wasEnded
      },
      { timeoutMs, everyMs: 10, what: () => `${pattern} from ${output()}` },
    )
    if (found === true) throw new Error(`ended without ${pattern}: ${output()}`, { cause: startError })
    return found
  }

  own({
    what: `${called} (pid ${child.pid}): end it in the test: await child.kill('SIGTERM'), or await using`,
    isLeft: isRunning,
    remove: async () => void (await kill()),
    isFault: options.mustEnd ?? true,
  })
  return {
    pid: child.pid ?? -1,
    /** Resolves when it has ended and its output is complete. Bounded by the test's own timeout. */
    exited,
    stdout: () => stdout,
    stderr: () => stderr,
    isRunning,
    /** Writes to standard input; only with `keyboard`. */
    type: (text: string) => void child.stdin?.write(text),
    waitForLine,
    kill,
    [Symbol.asyncDispose]: async () => void (await kill()),
  }
}
