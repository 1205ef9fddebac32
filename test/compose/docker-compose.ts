import { startProcess } from '../setup/processes.ts'

/** The words that call Compose; undefined where it is not installed. It reads a file without any engine. */
export async function dockerCompose(): Promise<readonly string[] | undefined> {
  for (const words of [['docker', 'compose'], ['docker-compose']]) {
    const [command = '', ...args] = words
    const ended = startProcess(command, [...args, 'version']).exited
    const { code } = await ended.catch(() => ({ code: null }))
    if (code === 0) return words
  }
  return undefined
}
