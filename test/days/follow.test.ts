import { expect, test } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { createFollower } from '../../src/days/follow.ts'
import { listing, never, zone } from '../tasks/audit/listing.ts'

const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id)

test('returns each event once, also those that a failed poll has found', async () => {
  const refused = new Failure('stop', 'unauthorised', 'the key is refused')
  const { deps } = listing(3, { 2: refused })
  const follower = createFollower(zone, deps)
  await expect(follower.poll(never)).rejects.toBe(refused)
  expect(idsOf(await follower.poll(never))).toEqual([0, 1, 2, 3, 4, 5].map((number) => `event-${number}`))
  expect(await follower.poll(never)).toEqual([])
})

test('keeps the newest events that are wanted', async () => {
  const follower = createFollower(zone, listing(20).deps, ({ id }) => id !== 'event-38')
  expect(idsOf(await follower.poll(never, 2))).toEqual(['event-37', 'event-39'])
})
