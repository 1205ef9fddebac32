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

/** A child process whose output is kept whole. Usable with `await using`, which kills it. */
export interface TestProcess extends AsyncDisposable {
  readonly pid: number
  /** Resolves when it has ended and its output is complete. Bounded by the test's own timeout. */
  readonly exited: Promise<Exit>
  stdout(): string
  stderr(): string
  isRunning(): boolean
  /** Writes to standard input; only with `keyboard`. */
  type(text: string): void
  /** The match of the first whole or last partial line, of either output and from its beginning, that fits. */
  waitForLine(pattern: RegExp, timeoutMs?: number): Promise<RegExpMatchArray>
  /** Sends the signal (default SIGKILL) and waits for the end. Quiet when it has ended. SIGSTOP and SIGCONT do not wait. */
  kill(signal?: NodeJS.Signals): Promise<Exit | undefined>
}

/**
 * Starts `node <script> <args>` on the Node that runs the tests. What Node makes of the sources is kept, as the command
 * keeps it for itself: a start then takes half the CPU time.
 */
export function startNode(args: readonly string[], options: ProcessOptions = {}): TestProcess {
  const env = { NODE_COMPILE_CACHE: `${projectFolder}node_modules/.cache/shieldlog-tests`, ...options.env }
  return startProcess(process.execPath, args, { ...options, env })
}

/**
 * Most processes of tests end within a second: with room for what they allocate they collect no garbage before, and the
 * parser of HTTP answers is compiled once instead of twice.
 */
const forShortLives = ['--min-semi-space-size=16', '--liftoff-only']

/** Starts `node src/cli.ts <args>`, from the bundle of this run. */
export function startCli(args: readonly string[], options: ProcessOptions = {}): TestProcess {
  return startProgram('cli', args, options)
}

/** Starts the program, or one of the tests' own entries, from the bundle of this run. */
export function startProgram(
  name: ProgramName,
  args: readonly string[],
  options: ProcessOptions = {},
): TestProcess {
  const env = { ...compiledPrograms(), ...options.env }
  return startProcess(process.execPath, [...forShortLives, programFile(name), ...args], { ...options, env })
}

export function startProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions = {},
): TestProcess {
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

  const handle: TestProcess = {
    pid: child.pid ?? -1,
    exited,
    stdout: () => stdout,
    stderr: () => stderr,
    isRunning,
    type: (text) => void child.stdin?.write(text),
    async waitForLine(pattern, timeoutMs = patienceMs) {
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
    },
    async kill(signal = 'SIGKILL') {
      if (isRunning()) child.kill(signal)
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') return undefined
      return await exited
    },
    async [Symbol.asyncDispose]() {
      await handle.kill()
    },
  }
  own({
    what: `${called} (pid ${child.pid}): end it in the test: await child.kill('SIGTERM'), or await using`,
    isLeft: isRunning,
    remove: async () => void (await handle.kill()),
    isFault: options.mustEnd ?? true,
  })
  return handle
}
