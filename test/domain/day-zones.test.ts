import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../setup/run-command.ts'

it.each([
  ['America/New_York', [-300, -240]],
  ['Asia/Tokyo', [540]],
  ['Pacific/Apia', [780]],
])('days are UTC days on a host in %s', async (zone, offsets) => {
  const script = join(import.meta.dirname, 'day-in-zone.ts')
  const { stdout } = await runCommand(process.execPath, [script], { env: { TZ: zone } })
  expect(JSON.parse(stdout)).toEqual({ offsets })
})
