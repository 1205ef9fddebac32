import { expect, it } from 'vitest'
import type { ArchivedPiece } from '../../src/pump/archived-lines.ts'
import { shipArchived } from '../../src/pump/ship-archived.ts'
import { stream } from '../domain/builders.ts'
import { createStage, eventAt, zone } from './stage.ts'

const never = () => new AbortController().signal
/** Each line is a page of its own. */
const bytes = 4_194_304

function piece(...numbers: number[]): ArchivedPiece {
  return { part: 'p', from: 1, events: numbers.map((number) => ({ event: eventAt(number), bytes })) }
}

it('ships nothing twice where fingerprints went because another call for the same day has ended', async () => {
  const stage = await createStage()
  const ship = (read: () => AsyncIterable<ArchivedPiece>) =>
    shipArchived({ stream, zone, sink: stage.sink, read, progressed: () => undefined }, stage.deps, never())
  async function* nothing(): AsyncGenerator<ArchivedPiece> {}
  async function* lines(): AsyncGenerator<ArchivedPiece> {
    yield piece(1, 2)
    await ship(nothing)
    await stage.store.forgetFingerprints(stream)
    yield piece(1, 3)
  }
  await expect(ship(lines)).rejects.toThrow('reading it again would ship it twice')
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e1'])
})

it('goes on where another call for the same day has ended and nothing is forgotten', async () => {
  const stage = await createStage()
  const ship = (read: () => AsyncIterable<ArchivedPiece>) =>
    shipArchived({ stream, zone, sink: stage.sink, read, progressed: () => undefined }, stage.deps, never())
  async function* nothing(): AsyncGenerator<ArchivedPiece> {}
  async function* lines(): AsyncGenerator<ArchivedPiece> {
    yield piece(1, 2)
    await ship(nothing)
    yield piece(1, 3)
  }
  expect(await ship(lines)).toMatchObject({ shipped: 3, present: 1 })
  expect(stage.delivered.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3'])
  expect((await stage.read())?.fromArchive).toBeUndefined()
})
