import { expect, test } from 'vitest'
import { waitFor } from '../setup/wait-for.ts'
import { compareFiles, exactly } from './shipped.ts'
import { readableDays, workplace } from './workplace.ts'

test('a run that is killed right after it has listed the zones is continued: each event of each zone once', async () => {
  const work = await workplace({ days: 300, pageSize: 50, latencyMs: 20 }, { zones: 'all' })
  const { simulator, events } = work
  for (const sent of [1, 3, 6]) {
    const before = simulator.requests.length
    const child = work.start(['run'])
    await waitFor(() => simulator.requests.length >= before + sent, { what: () => child.stderr() })
    await child.kill('SIGKILL')
  }
  expect(await work.once()).toMatchObject({ code: 0 })
  expect(compareFiles(events, simulator, [101, 102], readableDays())).toEqual(exactly(1_800))
})
