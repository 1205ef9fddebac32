import { Failure } from '../domain/failure.ts'
import { networkOf, networks } from '../domain/text/network.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The proxy that the environment names for a URL, as curl, Go and Python read it: `HTTPS_PROXY`, `HTTP_PROXY` and
 * `ALL_PROXY`, and none for what `NO_PROXY` names (names with their subdomains, `*.name` for these alone, addresses,
 * networks, `10.1.*`, each also with a port, or `*`). A small name of a variable counts before the large one; a proxy
 * without a scheme is one of HTTP. Throws Failure (stop) for a proxy that cannot be used.
 */
export function proxyOf(url: URL, environment: Environment = process.env): URL | undefined {
  const variable = (name: string) => environment[name] ?? environment[name.toUpperCase()]
  const ofHttp = variable('http_proxy') ?? variable('all_proxy')
  const named = url.protocol === 'https:' ? (variable('https_proxy') ?? ofHttp) : ofHttp
  if (named === undefined || named === '' || isExempt(url, variable('no_proxy') ?? '')) return undefined
  const proxy = URL.parse(named.includes('://') ? named : `http://${named}`)
  if (proxy !== null && /^https?:$/.test(proxy.protocol)) return proxy
  const why = /^socks/i.test(named)
    ? 'it is a SOCKS proxy, and shieldlog connects through HTTP proxies only'
    : 'it is no URL'
  throw new Failure(
    'stop',
    'network',
    `cannot connect through the proxy that the environment sets: ${why}; ` +
      'HTTPS_PROXY, HTTP_PROXY and ALL_PROXY take a URL such as http://proxy.example:3128',
  )
}

function isExempt(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase()
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  return noProxy.split(/[,\s]+/).some((entry) => {
    const [, bracketed, plain = '', entryPort] =
      /^(?:\[(.+)\]|([^:]*|.*:.*:[^:]*))(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    const name = bracketed ?? plain
    return name !== '' && (entryPort ?? port) === port && isNamed(host, name)
  })
}

/** Whether an entry of `NO_PROXY` without its port names a host. */
function isNamed(host: string, name: string): boolean {
  if (name === '*') return true
  if (networkOf(name) !== undefined) return networks([name])(host)
  const prefix = /^(?:\d+\.)+(?=\*?$)/.exec(name)?.[0]
  if (prefix !== undefined) return networkOf(host) !== undefined && host.startsWith(prefix)
  const suffix = name.replace(/^\*?\./, '').replace(/\.$/, '')
  return (host === suffix && !name.startsWith('*')) || host.endsWith(`.${suffix}`)
}
