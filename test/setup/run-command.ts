import { startProcess, type ProcessOptions } from './processes.ts'

export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end; throws with everything that it printed unless it exits with 0. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<Output> {
  const child = startProcess(command, args, options)
  const { code, signal } = await child.exited
  const output = { stdout: child.stdout(), stderr: child.stderr() }
  if (code === 0) return output
  throw new Error(
    `${command} ${args.join(' ')} ended with ${code ?? signal}\n${output.stdout}\n${output.stderr}`,
  )
}
