import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import type { Sink } from '../../../src/ports/delivery.ts'
import { buildEvents } from '../../formats/events.ts'
import { deliver, failureOf, openSink, serve, ship, type SinkOptions } from './destination-server.ts'

describe('the sink', () => {
  it('is closed safely twice, before first use, and under a request', async () => {
    const server = await serve(() => {})
    const unused = ship(server.url).sink
    await unused.close()
    await unused.close()
    expect(await failureOf(deliver(unused, buildEvents(1)))).toMatchObject({ kind: 'cancelled' })
    const { sink } = ship(server.url)
    const hanging = failureOf(deliver(sink, buildEvents(1)))
    await expect.poll(() => server.got.length).toBe(1)
    await sink.close()
    expect(await hanging).toMatchObject({ kind: 'cancelled' })
  })

  const wrong: [string, SinkOptions, RegExp][] = [
    [
      'line breaks in a header',
      { headers: { 'X-A': 'b\r\nX-B: s3cr3t' } },
      /siem: headers\.X-A .*contains a character that is not allowed in a header/,
    ],
    ['a NUL in a secret', { headers: { 'X-A': new Secret('s3cr3t\0') } }, /headers\.X-A .*write one line/],
    ['an empty header', { headers: { 'X-A': '' } }, /headers\.X-A is empty/],
    ['no URL', { url: 'siem.example' }, /siem: url is not an http or https URL/],
    ['another scheme', { url: 'ftp://s3cr3t.example' }, /url is not an http or https URL/],
    ['a password in the URL', { url: 'https://user:s3cr3t@siem.example' }, /move it to a header/],
    ['an unknown preset', { preset: 'nope' as 'ndjson' }, /preset "nope" is unknown/],
  ]
  it.each(wrong)('refuses %s and names the field', (_name, options, message) => {
    expect(() => openSink('http://127.0.0.1:1', options)).toThrow(message)
    expect(() => openSink('http://127.0.0.1:1', options)).not.toThrow(/s3cr3t/)
  })

  it('never shows its secrets when it is printed', () => {
    const { sink }: { sink: Sink } = ship('http://127.0.0.1:1/?code=s3cr3t', {
      headers: { A: new Secret('s3cr3t') },
    })
    expect(JSON.stringify(sink)).not.toContain('s3cr3t')
    expect(sink.address).toBe('http://127.0.0.1:1')
  })
})
