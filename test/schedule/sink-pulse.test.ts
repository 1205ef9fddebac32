import { expect, test } from 'vitest'
import { createSinkPulse } from '../../src/schedule/sink-pulse.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

test('a sink hangs when none of its pumps has ended well for 20 s', async () => {
  const clock = createFakeClock()
  const pulse = createSinkPulse(clock)
  pulse.began('siem')
  pulse.began('siem')
  pulse.began('archive')
  await clock.advance(15_000)
  pulse.ended('archive', true)
  pulse.began('archive')
  // Another one that failed, and one that took its place.
  pulse.ended('siem', false)
  pulse.began('siem')
  expect(pulse.hanging()).toEqual([])
  await clock.advance(6_000)
  expect(pulse.hanging()).toEqual(['siem'])
  expect([pulse.hangs('siem'), pulse.hangs('archive'), pulse.hangs('unheard-of')]).toEqual([
    true,
    false,
    false,
  ])
  pulse.ended('siem', true)
  expect(pulse.hanging()).toEqual([])
})

test('a sink that nothing was asked of for long does not hang when it is asked again', async () => {
  const clock = createFakeClock()
  const pulse = createSinkPulse(clock)
  pulse.began('siem')
  pulse.ended('siem', false)
  await clock.advance(60_000)
  pulse.began('siem')
  expect(pulse.hangs('siem')).toBe(false)
})
