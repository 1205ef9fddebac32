import { expect, it } from 'vitest'
import { fingerprintOf } from '../../../src/domain/event/fingerprint.ts'

it('depends on id and time, and is the same everywhere', () => {
  expect(fingerprintOf({ id: 'a' })).toBe(0x87428fc422803d31n)
  expect(fingerprintOf({ id: 'a' })).not.toBe(fingerprintOf({ id: 'a', time: '2026-01-01T00:00:00.000Z' }))
})
