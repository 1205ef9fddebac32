import { expect, it } from 'vitest'
import { shipArchived, type ArchivedPiece } from '../../../src/maintenance/archive/ship-archived.ts'
import { stream } from '../../domain/builders.ts'
import { createStage, eventAt, zone, type Stage } from '../../pump/stage.ts'

const never = () => new AbortController().signal
/** A page of its own. */
function piece(...numbers: number[]): ArchivedPiece {
  return { part: 'p', from: 1, bytes: 4_194_304, lines: numbers.map(eventAt) }
}

/** Ships so many lines; between the first page and the second one another command does what is given. */
async function shipWith(stage: Stage, lines: readonly number[], meanwhile: () => Promise<void>) {
  let other: Promise<void> | undefined
  async function* read(): AsyncGenerator<ArchivedPiece> {
    for (const line of lines) yield piece(line)
  }
  const { clock } = stage
  // The pause between two pages is where others get at the stream.
  const waiting = {
    ...clock,
    async sleep(...args: Parameters<typeof clock.sleep>) {
      await (other ??= meanwhile())
      return clock.sleep(...args)
    },
  }
  const deps = { ...stage.deps, clock: waiting }
  return shipArchived({ request: 'one', stream, zone, sink: stage.sink, read }, deps, never())
}

async function shipNothing(stage: Stage): Promise<void> {
  async function* read(): AsyncGenerator<ArchivedPiece> {}
  await shipArchived({ request: 'other', stream, zone, sink: stage.sink, read }, stage.deps, never())
}

it('ships nothing twice if the index was dropped meanwhile', async () => {
  const stage = await createStage()
  const shipped = await shipWith(stage, [1, 2, 1, 3], async () => {
    await stage.complete()
    await stage.store.upkeep.dropIndex(stream)
  })
  expect(shipped.leftOut).toContain('reading it again would ship it twice')
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e1'])
})

it('continues after another call for the same day', async () => {
  const stage = await createStage()
  const shipped = await shipWith(stage, [1, 2, 1, 3], () => shipNothing(stage))
  expect(shipped).toMatchObject({ present: 1 })
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3'])
  expect((await stage.read())?.archives).toBeUndefined()
})
