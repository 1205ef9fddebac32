type Environment = Readonly<Record<string, string | undefined>>

/**
 * The proxy through which the connection pools reach a URL, by the rules of undici, which reads the same variables;
 * undefined for a direct connection, as every one but for HTTP is.
 */
export function proxyOf(url: URL, env: Environment = process.env): URL | undefined {
  if (!/^https?:$/.test(url.protocol)) return undefined
  const http = env['http_proxy'] ?? env['HTTP_PROXY'] ?? ''
  const https = env['https_proxy'] ?? env['HTTPS_PROXY'] ?? ''
  const proxy = URL.parse(url.protocol === 'https:' && https !== '' ? https : http)
  if (proxy === null || isExcepted(url, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return undefined
  return proxy
}

function isExcepted({ protocol, hostname, port }: URL, list: string): boolean {
  const host = hostname.replace(/^\[(.+)\]$/, '$1').replace(/(?<=.)\.$/, '')
  const ownPort = port || (protocol === 'https:' ? '443' : '80')
  return list.split(/[,\s]+/).some((entry) => {
    const { name, ofPort } = parsed(entry)
    return name !== '' && (ofPort === undefined || ofPort === ownPort) && isNamed(host, name)
  })
}

/** `host`, `host:port`, `[address]:port`, `[address]` or an IPv6 address. */
function parsed(entry: string): { readonly name: string; readonly ofPort: string | undefined } {
  const [, inBrackets, ofBrackets] = /^\[(.+)\](?::(\d+))?$/.exec(entry) ?? []
  if (inBrackets !== undefined) return { name: inBrackets.toLowerCase(), ofPort: ofBrackets }
  const [, name = entry, ofPort] = /^([^:]+):(\d+)$/.exec(entry) ?? []
  return { name: name.toLowerCase(), ofPort }
}

/** `*` names every host, `*.example.com` the subdomains, `.example.com` and `example.com` these and the host itself. */
function isNamed(host: string, name: string): boolean {
  if (name === '*') return true
  const base = name.replace(/^\*?\./, '').replace(/(?<=.)\.$/, '')
  return (host === base && !name.startsWith('*')) || host.endsWith(`.${base}`)
}
