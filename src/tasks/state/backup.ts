import { resolve } from 'node:path'
import { stateName } from '../../assemble/state.ts'
import type { Config } from '../../config/schema.ts'
import { Failure } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'

/** Copies an embedded state to a new file, also while a `run` writes to it. Returns what to print. Throws Failure. */
export async function backUpState(config: Config, file: string): Promise<string> {
  const { state } = config
  if (state.kind !== 'sqlite') {
    const remedy = 'back up Redis itself, by its RDB or append-only file'
    throw new Failure(
      'refuse',
      'rejected',
      `state backup copies SQLite, and the state is ${stateName(config)}: ${remedy}`,
    )
  }
  const { backUp } = await import('../../state/sqlite/backup.ts')
  const target = resolve(file)
  const bytes = await backUp(state.path, target)
  const size = `${(bytes / 1e6).toFixed(1)} MB`
  return `copied ${size} from ${printable(stateName(config))} to ${printable(target)}\n`
}
