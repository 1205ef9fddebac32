import { Server } from 'node:net'
import { expect, test } from 'vitest'
import { listenOn } from '../../src/server/listen.ts'

/** Of a host whose kernel answers `code` to IPv6; what it does take it binds to loopback. */
class WithoutIPv6 extends Server {
  readonly asked: unknown[] = []
  readonly #code: string

  constructor(code: string) {
    super()
    this.#code = code
  }

  override listen(given?: unknown): this {
    const { host, port } = given as { host: string; port: number }
    this.asked.push(host)
    if (!host.includes(':')) return super.listen({ host: '127.0.0.1', port })
    const error = Object.assign(new Error(`listen ${this.#code} ${host}`), { code: this.#code })
    setImmediate(() => this.emit('error', error))
    return this
  }
}

test.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])(
  'where the host has no IPv6 (%s), `::` is all of its IPv4 addresses; another address of IPv6 is refused',
  async (code) => {
    await using server = new WithoutIPv6(code)
    expect(await listenOn(server, '::', 0)).toMatchObject({ family: 'IPv4' })
    expect(server.asked).toEqual(['::', '0.0.0.0'])
    await using other = new WithoutIPv6(code)
    await expect(listenOn(other, '::1', 0)).rejects.toThrow('cannot listen on [::1]:0')
  },
)

test('`::` that is in use is refused, and nothing else is tried', async () => {
  await using server = new WithoutIPv6('EADDRINUSE')
  await expect(listenOn(server, '::', 1)).rejects.toThrow('in use')
  expect(server.asked).toEqual(['::'])
})
