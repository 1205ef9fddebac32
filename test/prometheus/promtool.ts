import { startProcess } from '../setup/processes.ts'
import { runCommand } from '../setup/run-command.ts'

/** Whether Prometheus's own checker is on PATH. */
export async function hasPromtool(): Promise<boolean> {
  const { code } = await startProcess('promtool', ['--version']).exited.catch(() => ({ code: null }))
  return code === 0
}

/** Has the checker look at an exposition, where it is installed. */
export async function checkMetrics(text: string): Promise<void> {
  if (await hasPromtool()) await runCommand('promtool', ['check', 'metrics'], { input: text })
}
