import { BlockList, isIP } from 'node:net'

/**
 * Addresses and networks (`203.0.113.0/24`, `2001:db8::/32`). Of a masked address (`203.0.113.*`) the visible part
 * decides: it is listed where the first and the last address that it may be are.
 */
export function networks(listed: readonly string[]): (value: string) => boolean {
  const list = new BlockList()
  for (const text of listed) {
    const { address, family, bits } = networkOf(text)!
    list.addSubnet(address, bits, family)
  }
  const isListed = (address: string) => list.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
  return (value) => {
    const ends = endsOf(value)
    return ends !== undefined && ends.every(isListed)
  }
}

/** An address or a network, with the length of its prefix; undefined for any other text. */
export function networkOf(text: string) {
  const [address = '', prefix, ...more] = text.trim().split('/')
  const family = isIP(address)
  const most = family === 4 ? 32 : 128
  const bits = prefix === undefined ? most : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN
  if (family === 0 || more.length > 0 || !(bits <= most)) return undefined
  return { address, family: family === 4 ? 'ipv4' : 'ipv6', bits } as const
}

/** The first and last address that it may be; undefined for a text that is none. */
function endsOf(text: string): readonly string[] | undefined {
  const address = text.trim().replace(/^::ffff:(?=\d+\.)/i, '')
  if (address.includes('%')) return undefined
  if (isIP(address) > 0) return [address]
  if (!address.endsWith('*')) return undefined
  const [separator, parts, most] = address.includes(':')
    ? ([':', 8, 'ffff'] as const)
    : (['.', 4, '255'] as const)
  const visible = address
    .slice(0, -1)
    .split(separator)
    .filter((part) => part !== '')
  const ends = ['0', most].map((part) =>
    [...visible, ...Array<string>(parts).fill(part)].slice(0, parts).join(separator),
  )
  return ends.every((end) => isIP(end) > 0) ? ends : undefined
}
