import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { connectSteps } from '../../src/transport/connect-steps.ts'

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
