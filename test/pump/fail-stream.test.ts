import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { unknownOrdering } from '../../src/domain/scan/ordering.ts'
import { failStream } from '../../src/pump/write-failure.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, listingOf, zone } from './stage.ts'

describe('a failure that the pump could not record', () => {
  it('makes the stream back off, longer each time, and is logged', async () => {
    const stage = await createStage()
    stage.script.answer = listingOf([eventAt(0)], 1)
    const job = { stream, zone, priority: 'live', ordering: unknownOrdering, mayGoOn: () => false } as const
    const crashed = new Failure('refuse', 'crashed', 'its processes died')
    const waits: number[] = []
    for (let times = 0; times < 3; times++) {
      await failStream(job, stage.deps, crashed)
      waits.push((await stage.read())!.trouble!.retryAtMs - stage.clock.now())
    }
    expect(waits).toEqual([22_500, 45_000, 90_000])
    expect((await stage.read())?.trouble).toMatchObject({ code: 'crashed', count: 3 })
    expect(stage.internalEvents.map(({ name }) => name)).toEqual(Array(3).fill('StreamFailed'))
    // A page that goes through ends it.
    await stage.clock.advance(100_000)
    await stage.pump()
    expect((await stage.read())?.trouble).toBeUndefined()
  })
})
