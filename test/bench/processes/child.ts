import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { projectFolder } from '../../setup/project-folder.ts'

/** The flags that the image starts node with, which bound the memory of the program. */
export const imageFlags: readonly string[] = (
  JSON.parse(
    /^ENTRYPOINT (.*)$/m.exec(readFileSync(`${projectFolder}Dockerfile`, 'utf8'))?.[1] ?? '[]',
  ) as string[]
).slice(1, -1)

const compiled = `${projectFolder}node_modules/.cache/bench`

/** A process that is given a task as its one argument, and answers with one message. */
export function startChild<Answer>(file: string, task: unknown) {
  const path = fileURLToPath(new URL(file, import.meta.url))
  // Warnings of experimental parts would stand between the lines of the table.
  const execArgv = ['--disable-warning=ExperimentalWarning', ...imageFlags]
  const child = fork(path, [JSON.stringify(task)], {
    execArgv,
    // The arena as in the image; and compiled modules are kept, as the program keeps its own.
    env: { ...process.env, MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: compiled },
    // Events that a process writes to its standard output are not part of the table.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  return {
    answer: answerOf<Answer>(child, file),
    /** Ends it and waits for its end. Safe twice. */
    async end(): Promise<void> {
      if (child.connected) child.disconnect()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

/** Runs a process to its end and returns what it answered. */
export async function runChild<Answer>(file: string, task: unknown): Promise<Answer> {
  const child = startChild<Answer>(file, task)
  try {
    return await child.answer
  } finally {
    await child.end()
  }
}

function answerOf<Answer>(child: ChildProcess, file: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Answer))
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(new Error(`${file} ended without an answer: ${signal ?? `code ${code}`}`)),
    )
  })
}

/** In a child: the task that it was given. */
export function taskOf(): unknown {
  return JSON.parse(process.argv[2] ?? 'null')
}

/** In a child: answers, and resolves once the answer is on its way. */
export function answer(message: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => (error === null ? resolve() : reject(error)))
  })
}
