import { expect, test } from 'vitest'
import { startCli } from '../setup/processes.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { openWorkshop } from './workshop.ts'

test('run still reports the missing key', async () => {
  const { execute } = openWorkshop({ api: { accessKey: '${SHIELDLOG_TEST_NEVER_SET}' } })
  const { code, stderr } = await execute('run', '--once')
  expect([code, stderr]).toEqual([78, expect.stringContaining('uses ${SHIELDLOG_TEST_NEVER_SET}')])
})

test('without a configuration file, the places that were searched and init are named', async () => {
  const folder = temporaryFolder()
  const child = startCli(['run'], { cwd: folder, env: { SHIELDLOG_CONFIG: undefined } })
  expect((await child.exited).code).toBe(78)
  expect(child.stderr()).toMatch(
    new RegExp(
      `^no configuration file was found: looked for ${folder}/shieldlog.yaml and /etc/shieldlog/shieldlog.yaml\n` +
        `the configuration has 2 errors:\n[^]*\nto write a configuration file: .*init\nto try it `,
    ),
  )
})
