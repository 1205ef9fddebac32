import { lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { workplace } from '../e2e/workplace.ts'
import { programFile } from '../setup/program/program-file.ts'
import { startProcess } from '../setup/processes.ts'
import { waitFor } from '../setup/wait-for.ts'

/** Everything below a folder, links not followed: `d` or `-` and its permission bits. */
function modesBelow(folder: string): Map<string, string> {
  const modes = new Map<string, string>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const stats = lstatSync(join(folder, name), { throwIfNoEntry: false })
    // The journal of a transaction may be gone again.
    if (stats === undefined) continue
    modes.set(name, `${stats.isDirectory() ? 'd' : '-'}${(stats.mode & 0o7777).toString(8)}`)
  }
  return modes
}

test.each(['000', '277'])('umask %s: new files are accessible only to this user', async (umask) => {
  const place = await workplace({ days: 3 })
  const made = join(place.folder, 'made')
  mkdirSync(made, { mode: 0o700 })
  place.configure({
    state: `sqlite:${made}/deep/er/state.db`,
    sinks: [{ name: 'archive', type: 'file', path: join(made, 'files/of/sink') }],
  })
  const args = [process.execPath, programFile('cli'), 'run', '-c', place.configFile]
  const child = startProcess('sh', ['-c', `umask ${umask}; exec "$0" "$@"`, ...args], { cwd: place.folder })
  // A part has its mode before its first line.
  const isPart = (path: string) => path.endsWith('.ndjson') && statSync(join(made, path)).size > 0
  const parts = () => [...modesBelow(made).keys()].filter(isPart)
  await waitFor(() => parts().length === 6, { what: () => child.stderr() })
  // While it runs: what stands beside the database is there too.
  const modes = modesBelow(made)
  expect((await child.kill('SIGTERM'))?.code, child.stderr()).toBe(0)
  const report = ['audit', '--report', join(made, 'report.html'), '-c', place.configFile]
  const audit = startProcess(
    'sh',
    ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, programFile('cli'), ...report],
    { cwd: place.folder },
  )
  // The stop may have come before the last commits: then events are missing, and the report is there all the same.
  expect([0, 1], audit.stderr()).toContain((await audit.exited).code)
  for (const [path, mode] of modesBelow(made)) modes.set(path, mode)
  expect(modes.get('report.html')).toBe('-600')
  for (const kind of [/state\.db$/, /-wal$/, /\.lock$/, /\.lock\.holder$/, /\.writer$/])
    expect(
      [...modes.keys()].filter((path) => kind.test(path)),
      String(kind),
    ).toHaveLength(1)
  // A part that was cut has lost the right to be written.
  expect([...modes].filter(([, mode]) => !['d700', '-600', '-400'].includes(mode))).toEqual([])
})
