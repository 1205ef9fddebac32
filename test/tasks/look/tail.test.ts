import { expect, onTestFinished, test } from 'vitest'
import { waitFor } from '../../setup/wait-for.ts'
import { startProcess } from '../../setup/processes.ts'
import { programFile } from '../../setup/program/program-file.ts'
import { executeWith, openWorkshopWithApi } from '../workshop.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const live = { live: { ratePerSecond: 20 }, days: 30, pageSize: 10 } as const
const line = /^\d\d:\d\d:\d\d {2}(?:shop|102 ) {2}\S/

/** Runs `tail` in this process until it has printed so many lines. */
async function tailUntil(most: number, args: readonly string[], options: object = {}, columns?: number) {
  const { folder } = await openWorkshopWithApi({ ...live, ...options })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  let text = ''
  const terminal = columns === undefined ? {} : { isTTY: true, columns, hasColors: () => true }
  const stdout = { write: (part: string) => void (text += part), ...terminal }
  const ended = executeWith(join(folder, 'shieldlog.yaml'), ['tail', ...args], {
    stdout,
    signal: stop.signal,
  })
  await waitFor(() => text.split('\n').length > most, { what: 'the lines of tail' })
  stop.abort()
  const { code, stderr } = await ended
  return { code, stderr, lines: text.split('\n').filter(Boolean), folder }
}

test.each(['oldest-first', 'newest-first', 'unordered'])(
  'prints each event once as it comes, from a listing that is %s',
  async (order) => {
    const { code, stderr, lines } = await tailUntil(40, ['--json'], { order })
    expect([code, stderr]).toEqual([0, ''])
    const ids = lines.map((each) => (JSON.parse(each) as { id: string }).id)
    expect(new Set(ids).size).toBe(ids.length)
  },
)

test('prints one line per event that fits the terminal, with the action in colour', async () => {
  for (const columns of [80, 120]) {
    const { lines } = await tailUntil(12, [], {}, columns)
    const plain = lines.map((each) => stripVTControlCharacters(each))
    for (const each of plain) {
      expect(each).toMatch(line)
      expect(each.length).toBeLessThan(columns)
    }
    expect(lines.join('')).toContain('\u001B[31mBlocked')
  }
})

test('prints no colours to a pipe, and only what was chosen, and names an action that no event is known to have', async () => {
  const args = ['--zone', 'shop', '--action', 'blocked,logged,Bloked']
  const { lines, folder, code, stderr } = await tailUntil(8, args)
  for (const each of lines) expect(each).toMatch(/^\d\d:\d\d:\d\d {2}(?:Blocked|Logged) /)
  expect([code, stderr]).toEqual([
    0,
    'note: --action Bloked is not known as an action, so it may match no event; did you mean Blocked?\n',
  ])
  expect(existsSync(join(folder, 'var'))).toBe(false)
})

test('ends with 0 at Ctrl-C, and when the reader closes the pipe', async () => {
  const workshop = await openWorkshopWithApi(live)
  const child = workshop.start(['tail'])
  await child.waitForLine(line)
  expect(await child.kill('SIGINT')).toEqual({ code: 0, signal: null })
  const file = join(workshop.folder, 'shieldlog.yaml')
  const command = `set -o pipefail; "${process.execPath}" "${programFile('cli')}" tail -c "${file}" | head -n 1`
  const piped = startProcess('bash', ['-c', command], { env: { NO_PROXY: '127.0.0.1' } })
  expect(await piped.exited).toEqual({ code: 0, signal: null })
})

test('refuses a wrong key at once, and a wrong choice as wrong usage', async () => {
  const { simulator, execute, configure } = await openWorkshopWithApi(live)
  expect(await execute('tail', '--sink', 'archive', '--json')).toMatchObject({ code: 2 })
  configure({ api: { baseUrl: simulator.url, accessKey: 'wrong' } })
  expect(await execute('tail')).toMatchObject({ code: 1, stdout: '' })
})
