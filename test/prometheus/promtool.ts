import { isOnPath } from '../setup/available.ts'

/** What to do where the checks by promtool are skipped. */
export const promtoolRemedy = 'install promtool (apt-get install prometheus, brew install prometheus)'

/** Whether Prometheus's own checker is on PATH. */
export function promtoolAvailable(): boolean {
  return isOnPath('promtool')
}
