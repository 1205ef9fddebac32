import { EnvHttpProxyAgent, request } from 'undici'
import { expect, test } from 'vitest'
import { proxyOf } from '../../src/transport/proxy-of.ts'

const proxies = { HTTPS_PROXY: 'http://127.0.0.1:9/', HTTP_PROXY: 'http://127.0.0.1:9/' }

/** What undici does: its own connector is not called where it goes through a proxy. */
async function goesThroughProxy(url: string, noProxy: string): Promise<boolean> {
  const agent = new EnvHttpProxyAgent({
    httpProxy: proxies.HTTP_PROXY,
    httpsProxy: proxies.HTTPS_PROXY,
    noProxy,
    connect: (_, callback) => callback(new Error('direct'), null),
  })
  const failure = await request(url, { dispatcher: agent }).catch((error: unknown) => error as Error)
  await agent.close()
  return !(failure instanceof Error) || failure.message !== 'direct'
}

const exceptions = [
  '',
  '*',
  '*:443',
  'siem.example',
  '.siem.example',
  '*.siem.example',
  'SIEM.example., other',
  'example',
  'siem.example:443 a.siem.example:8088',
  '[::1]:443,::1',
  '192.0.2.7',
]
const urls = [
  'https://siem.example/',
  'https://a.siem.example:8088/',
  'http://siem.example./',
  'https://notsiem.example',
  'https://[::1]/',
  'http://192.0.2.7/',
]

test.each(exceptions)(
  'the same URLs go through the proxy as with undici where NO_PROXY is "%s"',
  async (list) => {
    const own = urls.map((url) => proxyOf(new URL(url), { ...proxies, NO_PROXY: list }) !== undefined)
    expect(own).toEqual(await Promise.all(urls.map((url) => goesThroughProxy(url, list))))
  },
)

test('https goes through HTTPS_PROXY, else through HTTP_PROXY; small letters win', () => {
  const through = (url: string, env: Record<string, string>) => proxyOf(new URL(url), env)?.host
  const both = { HTTPS_PROXY: 'http://s:1', HTTP_PROXY: 'http://p:2' }
  expect([through('https://a', both), through('http://a', both)]).toEqual(['s:1', 'p:2'])
  expect(through('https://a', { HTTP_PROXY: 'http://p:2' })).toBe('p:2')
  expect(through('http://a', { HTTPS_PROXY: 'http://s:1' })).toBeUndefined()
  expect(through('http://a', { ...both, http_proxy: 'http://low:3' })).toBe('low:3')
  expect(through('http://a', {})).toBeUndefined()
  expect(through('tls://a:6514', both)).toBeUndefined()
})
