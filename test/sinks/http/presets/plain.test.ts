import { expect, it } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { buildEvents } from '../../../formats/events.ts'
import { readWith } from './reading.ts'

/** Presets for endpoints of one's own, which share their settings. */
const presets = ['json', 'ndjson'] as const

it.each(presets)(
  '%s accepts only the configured statuses as an acknowledgement, if any are configured',
  (preset) => {
    const url = 'https://siem.example'
    const read = readWith({ preset, url, successCodes: [202, 409] }, buildEvents(1))
    const kinds = [200, 202, 204, 409, 429].map((status) => read({ status }).kind)
    expect(kinds).toEqual(['retry', 'delivered', 'retry', 'delivered', 'retry'])
    expect(readWith({ preset, url }, buildEvents(1))({ status: 204 })).toEqual({ kind: 'delivered' })
  },
)

it.each(presets)(
  '%s waits for a request with the same Idempotency-Key, and says how 409 can acknowledge',
  (preset) => {
    const read = readWith({ preset, url: 'https://siem.example' }, buildEvents(1))
    expect(read({ status: 409 })).toMatchObject({
      kind: 'retry',
      said: expect.stringContaining('add 409 to successCodes') as unknown,
    })
  },
)

it.each(presets)('%s needs a key for a signature', (preset) => {
  const settings = { preset, url: 'https://siem.example' }
  expect(() => readWith({ ...settings, signature: {} }, [])).toThrow('is missing')
  expect(() => readWith({ ...settings, signature: { secret: new Secret('k') } }, [])).not.toThrow()
})

it.each(presets)('%s refuses a signature in a header that is set by others', (preset) => {
  const read = (header: string) =>
    readWith(
      {
        preset,
        url: 'https://siem.example',
        headers: { 'X-Own': new Secret('v') },
        signature: { header, secret: new Secret('k') },
      },
      [],
    )
  for (const header of ['content-length', 'Idempotency-Key', 'Via', 'Forwarded', 'Proxy-Authenticate'])
    expect(() => read(header), header).toThrow('is a header that the sink sets or that proxies read')
  for (const header of ['x-own', 'User-Agent']) expect(() => read(header)).toThrow('is given twice')
  expect(() => read('X-Hub-Signature')).not.toThrow()
})
