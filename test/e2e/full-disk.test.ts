import { expect, test } from 'vitest'
import { startProcess } from '../setup/processes.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { compareFiles, exactly } from './shipped.ts'
import { endOf, readableDays, workplace } from './workplace.ts'

const zone = 101
const today = readableDays()[2]

test('a file that cannot grow further stops the run, which continues when the limit is raised', async () => {
  const days = { [today]: 1500 }
  const place = await workplace({ days, pageSize: 100, zones: [zone], entryBytes: 20_000 })
  place.configure({ zones: [zone] })
  // The signal would end any program; ignored, the write fails instead. 12 or 24 MB, as the shell counts in blocks of
  // 512 or 1024 bytes: more than the store and the first load need.
  const script = `trap '' XFSZ; ulimit -f 24000; exec "$0" "$@"`
  const args = [process.execPath, `${projectFolder}src/cli.ts`, 'run', '--once', '-c', place.configFile]
  const limited = await endOf(startProcess('/bin/sh', ['-c', script, ...args]))
  expect(limited.code, limited.stderr).toBe(1)
  expect(limited.stderr).toMatch(/not read to the end: .*file too large/)
  const before = compareFiles(place.events, place.simulator, [zone], [today])
  expect(before).toMatchObject({ repeated: 0, strange: 0 })
  expect(before.lines).toBeGreaterThan(0)
  const ended = await place.once()
  expect(ended.code, ended.stderr).toBe(0)
  expect(compareFiles(place.events, place.simulator, [zone], [today])).toEqual(exactly(1500))
})
