import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { CommittedPart } from '../../../src/domain/event/delivery.ts'
import { programFile } from '../../setup/program/program-file.ts'
import { programs } from '../../setup/program/program-file.ts'
import type { Command } from './sink-child.ts'

export interface Answer {
  readonly committed?: readonly CommittedPart[]
  readonly code?: string
  readonly message?: string
}

export interface SinkChild {
  readonly process: ChildProcess
  ask(command: Command): Promise<Answer>
  /** Ends it by this signal and waits until it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>
}

/**
 * Starts `sink-child.ts` and waits until it is ready. `fileBlocks` limits what it may write into one file (1 KiB each).
 */
export async function startSinkChild(
  args: readonly string[],
  fileBlocks?: number,
  uid?: number,
): Promise<SinkChild> {
  // Another user may not read the folder of the bundles.
  const script = uid === undefined ? programFile('sinkChild') : programs.sinkChild
  const node = [process.execPath, script, ...args]
  const limited = ['bash', '-c', `ulimit -f ${fileBlocks}; exec "$@"`, 'bash', ...node]
  const [command, ...rest] = fileBlocks === undefined ? node : limited
  const child = spawn(command!, rest, {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  if ((await lines.next()).value !== 'ready') throw new Error('the child did not start')
  return {
    process: child,
    async ask(command) {
      child.stdin.write(`${JSON.stringify(command)}\n`)
      const { value } = await lines.next()
      return JSON.parse(String(value)) as Answer
    },
    async kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
  }
}
