import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { own } from './leftovers.ts'

/** A new empty folder, removed after the test, or after the file's last test when made in `beforeAll` or at top level. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shieldlog-test-'))
  own({
    what: folder,
    isLeft: () => true,
    // Parts and databases may still be written while a killed process winds down.
    remove: async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
    isFault: false,
  })
  return folder
}
