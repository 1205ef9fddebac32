import type { TestProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'

/**
 * Lets a process go on that has said `frozen`. It says so just before it stops: a SIGCONT that comes in between is lost,
 * so the signal is sent until the process says that it goes on.
 */
export async function thaw(child: TestProcess): Promise<void> {
  await waitFor(
    async () => {
      await child.kill('SIGCONT')
      return !child.isRunning() || /^thawed$/m.test(child.stderr())
    },
    { what: 'the end of a freeze' },
  )
}
