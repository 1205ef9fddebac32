import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { connectSteps } from '../../src/transport/connect-steps.ts'
import { listenProxy, listenTls, pem } from './listening.ts'

test('shows each step up to the one that fails', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined).end('no TLS here\r\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const steps = (url: string) => connectSteps(new URL(url), undefined, systemClock)
  expect(await steps(`http://localhost:${port}`)).toMatchObject([
    { step: 'name', isWell: true },
    { step: 'tcp', isWell: true },
  ])
  expect(await steps(`https://127.0.0.1:${port}`)).toMatchObject([
    { step: 'tcp', isWell: true },
    { step: 'tls', isWell: false },
  ])
  expect(await steps('http://127.0.0.1:9')).toEqual([{ step: 'tcp', isWell: false, text: 'ECONNREFUSED' }])
  expect(await steps('http://no-such-host.invalid')).toMatchObject([{ step: 'name', isWell: false }])
})

test('goes through the proxy of the environment, step by step, unless NO_PROXY lists the host', async () => {
  const destination = await listenTls((_, response) => response.end())
  const [proxy, refusing] = [await listenProxy(), await listenProxy(407)]
  onTestFinished(
    async () => void (await Promise.all([destination, proxy, refusing].map((each) => each.close()))),
  )
  const steps = (url: string) => connectSteps(new URL(url), { ca: pem('ca.pem') }, systemClock)
  vi.stubEnv('NO_PROXY', '')
  vi.stubEnv('HTTPS_PROXY', proxy.url)
  expect(await steps(destination.url)).toMatchObject([
    { step: 'proxy', isWell: true, text: `connected to 127.0.0.1, port ${proxy.port}` },
    { step: 'tunnel', isWell: true },
    { step: 'tls', isWell: true },
  ])
  expect(proxy.tunnels).toEqual([`localhost:${destination.port}`])
  vi.stubEnv('HTTPS_PROXY', refusing.url)
  expect((await steps(destination.url)).slice(1)).toEqual([
    { step: 'tunnel', isWell: false, text: 'the proxy answered 407' },
  ])
  vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:9')
  expect(await steps(destination.url)).toEqual([{ step: 'proxy', isWell: false, text: 'ECONNREFUSED' }])
  vi.stubEnv('NO_PROXY', 'localhost')
  expect((await steps(destination.url)).map(({ step }) => step)).toEqual(['name', 'tcp', 'tls'])
})
