import { spawnSync } from 'node:child_process'
import { startProcess, type ProcessOptions, type TestProcess } from './processes.ts'

/** Whether `startOnTerminal` works: the `script` of macOS and BSD takes other arguments. */
export function terminalAvailable(): boolean {
  const { error, stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' })
  return error === undefined && stdout.includes('util-linux')
}

/** Runs a shell command on a pseudo-terminal of its own; what is typed arrives as from a keyboard. */
export function startOnTerminal(command: string, options: ProcessOptions = {}): TestProcess {
  // A new terminal has no width.
  const onTerminal = `stty cols 120 rows 40; exec ${command}`
  return startProcess('script', ['-qefc', onTerminal, '/dev/null'], { ...options, keyboard: true })
}

export const ctrlC = '\u0003'
