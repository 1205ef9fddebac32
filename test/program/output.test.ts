import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { programFile } from '../setup/program/program-file.ts'
import { startProcess } from '../setup/processes.ts'

const cli = `"${process.execPath}" "${programFile('cli')}"`

async function shell(line: string) {
  const child = startProcess('bash', ['-c', line])
  await child.exited
  return { stdout: child.stdout(), stderr: child.stderr() }
}

test('ends without an error when the reader closes the pipe', async () => {
  const ended = await shell(`${cli} config schema | true; echo "\${PIPESTATUS[0]}"`)
  expect(ended).toEqual({ stdout: '0\n', stderr: '' })
})

test.skipIf(!existsSync('/dev/full'))('reports that its output was lost', async () => {
  const ended = await shell(`${cli} config schema > /dev/full; echo "$?"`)
  expect(ended.stdout).toBe('1\n')
  expect(ended.stderr).toMatch(/^stdout cannot be written: ENOSPC/)
})
