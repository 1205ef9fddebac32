import { expect, test } from 'vitest'
import { openWorkshop } from './workshop.ts'

test.each([['status'], ['dead-letters', 'list'], ['backfill', 'list']])(
  '%s %s reads the store without the API key',
  async (...command) => {
    const { execute } = openWorkshop({ api: { accessKey: '${SHIELDLOG_TEST_NEVER_SET}' } })
    const { code, stdout, stderr } = await execute(...command, '--json')
    expect(stderr).not.toContain('SHIELDLOG_TEST_NEVER_SET')
    expect(code).not.toBe(78)
    expect(JSON.parse(stdout)).toBeTypeOf('object')
  },
)

test('run still reports the missing key', async () => {
  const { execute } = openWorkshop({ api: { accessKey: '${SHIELDLOG_TEST_NEVER_SET}' } })
  const { code, stderr } = await execute('run', '--once')
  expect([code, stderr]).toEqual([78, expect.stringContaining('uses ${SHIELDLOG_TEST_NEVER_SET}')])
})
