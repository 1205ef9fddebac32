import { isOnPath } from './on-path.ts'

/** What to do where the tests in a browser are skipped. */
export const browserRemedy = 'install chromium (apt-get install chromium)'

export function browserAvailable(): boolean {
  return isOnPath('chromium')
}
