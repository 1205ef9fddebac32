import { describe, expect, it } from 'vitest'
import { proxyOf } from '../../src/transport/proxies.ts'

const proxy = 'http://proxy.example:3128'
const hrefOf = (url: string, environment: Record<string, string>) => proxyOf(new URL(url), environment)?.href
const isDirect = (url: string, noProxy: string) =>
  hrefOf(url, { ALL_PROXY: proxy, NO_PROXY: noProxy }) === undefined

describe('the proxy of the environment', () => {
  it.each([
    ['https://api.example/', { HTTPS_PROXY: `${proxy}/` }],
    ['https://api.example/', { https_proxy: proxy, HTTPS_PROXY: 'http://other.example' }],
    ['https://api.example/', { HTTP_PROXY: proxy }],
    ['https://api.example/', { HTTPS_PROXY: 'proxy.example:3128' }],
    ['https://api.example/', { ALL_PROXY: proxy }],
    ['http://api.example/', { all_proxy: proxy }],
    ['http://api.example/', { HTTP_PROXY: proxy, HTTPS_PROXY: 'http://other.example' }],
  ])('of %s with %o', (url, environment) => {
    expect(hrefOf(url, environment)).toBe(`${proxy}/`)
  })

  it.each([
    ['http://api.example/', { HTTPS_PROXY: proxy }],
    ['https://api.example/', { https_proxy: '', ALL_PROXY: proxy }],
    ['https://api.example/', {}],
  ])('there is none for %s with %o', (url, environment) => {
    expect(hrefOf(url, environment)).toBeUndefined()
  })
})

describe('NO_PROXY', () => {
  it.each([
    ['https://api.example/', '*'],
    ['https://api.example/', 'other.example, api.example'],
    ['https://api.example./', 'api.example'],
    ['https://API.example/', 'Api.Example.'],
    ['https://a.b.example/', '.b.example'],
    ['https://b.example/', '.b.example'],
    ['https://a.b.example/', '*.b.example'],
    ['https://a.b.example/', 'b.example'],
    ['https://api.example/', 'api.example:443'],
    ['http://api.example:8080/', 'api.example:8080'],
    ['http://10.1.2.3/', '10.0.0.0/8'],
    ['http://10.1.2.3/', '10.1.2.3/32'],
    ['http://10.1.2.3/', '10.1.2.3'],
    ['http://10.1.2.3/', '10.1.*'],
    ['http://10.1.2.3/', '10.1.'],
    ['http://127.0.0.1:9871/', '127.0.0.0/8:9871'],
    ['http://[::1]:9871/', '::1'],
    ['http://[::1]:9871/', '[::1]'],
    ['http://[::1]:9871/', '[::1]:9871'],
    ['http://[2001:db8::5]/', '2001:db8::/32'],
  ])('%s needs none with %s', (url, noProxy) => {
    expect(isDirect(url, noProxy)).toBe(true)
  })

  it.each([
    ['https://api.example/', ''],
    ['https://api.example/', 'pi.example'],
    ['https://b.example/', '*.b.example'],
    ['https://api.example/', 'api.example:80'],
    ['https://api.example.org/', 'api.example'],
    ['http://11.1.2.3/', '10.0.0.0/8'],
    ['http://10.10.2.3/', '10.1.*'],
    ['https://10.example/', '10.'],
    ['http://[2001:db9::5]/', '2001:db8::/32'],
    ['https://api.example/', '10.0.0.0/8'],
  ])('%s needs one with %s', (url, noProxy) => {
    expect(isDirect(url, noProxy)).toBe(false)
  })
})
