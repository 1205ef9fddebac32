import { expect, test } from 'vitest'
import { ctrlC, startOnTerminal, terminalAvailable } from '../setup/terminal.ts'
import { temporaryFolder } from '../setup/temp.ts'

// Ctrl-C signals all processes of the terminal, and npm passes it on to the command that it runs: two signals.
test.skipIf(!terminalAvailable())('Ctrl-C under npm ends the demo as it ends without npm', async () => {
  // Bounded, so that nothing is left running where the test fails.
  const child = startOnTerminal('npm run -s demo -- --seconds 50', { env: { TMPDIR: temporaryFolder() } })
  // Up to date, so that the process has nothing else to do and meets the two one by one.
  await child.waitForLine(/^101 \(shop\) +\d+ +\d+ +\d s/)
  child.type(ctrlC)
  const { code } = await child.exited
  expect(code, child.stdout()).toBe(0)
  expect(child.stdout()).toMatch(/^verified: \d+ events in the files, none missing, none twice/m)
})
