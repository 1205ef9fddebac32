import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import type { Sink } from '../../../src/ports/delivery.ts'
import { buildEvents } from '../../formats/events.ts'
import { deliver, failureOf, serve, ship } from './destination-server.ts'

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

  it('never shows its secrets when it is printed', () => {
    const { sink }: { sink: Sink } = ship('http://127.0.0.1:1/?code=s3cr3t', {
      headers: { A: new Secret('s3cr3t') },
    })
    expect(JSON.stringify(sink)).not.toContain('s3cr3t')
    expect(sink.address).toBe('http://127.0.0.1:1')
  })
})
