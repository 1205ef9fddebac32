import { expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { presetContract } from '../../../contract/preset.contract.ts'
import { buildEvents } from '../../../formats/events.ts'
import { headerOf, idsIn, wholeBody } from './dialects.ts'
import { readWith } from './reading.ts'

presetContract('ndjson', {
  settings: (url, secret) => ({ url, headers: { Authorization: secret } }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  ...wholeBody({ status: 200 }, { status: 401 }),
  readsStatusOnly: true,
})

it('takes only the statuses that are set as an acknowledgement, and only where any are set', () => {
  const url = 'https://siem.example'
  const read = readWith({ preset: 'ndjson', url, successCodes: [202, 409] }, buildEvents(1))
  const kinds = [200, 202, 204, 409, 429].map((status) => read({ status }).kind)
  expect(kinds).toEqual(['retry', 'delivered', 'retry', 'delivered', 'retry'])
  expect(readWith({ preset: 'ndjson', url }, buildEvents(1))({ status: 204 })).toEqual({ kind: 'delivered' })
})

it('needs a key for a signature', () => {
  const settings = { preset: 'ndjson', url: 'https://siem.example' }
  expect(() => readWith({ ...settings, signature: {} }, [])).toThrow('is missing')
  expect(() => readWith({ ...settings, signature: { secret: new Secret('k') } }, [])).not.toThrow()
})
