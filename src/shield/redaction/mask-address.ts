import { isIP } from 'node:net'

const candidates =
  /(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?![\w:])\*?)/gi

/**
 * Applies `replace` to every IP address in a text. Lookalikes (a time, a version) stay, and so do masked addresses,
 * because a stored event is redacted a second time.
 */
export function replaceAddresses(text: string, replace: (address: string) => string): string {
  return text.replace(candidates, (found) => {
    const address = found.endsWith('*') ? found.slice(0, -1) : found
    if (isIP(address) === 0 || (address !== found && maskAddress(address) === found)) return found
    return replace(address) + found.slice(address.length)
  })
}

/** IPv4 without its last octet (`1.2.3.*`), IPv6 without its last four groups (`2001:db8:0:1::*`). */
export function maskAddress(address: string): string {
  if (isIP(address) === 4) return address.replace(/\d+$/, '*')
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (isMapped) return `::ffff:${groups[6]! >> 8}.${groups[6]! & 255}.${groups[7]! >> 8}.*`
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::*`
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const plain = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...octets: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [head = '', tail] = plain.split('::')
  const front = read(head)
  if (tail === undefined) return front
  const back = read(tail)
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back]
}

function read(groups: string): number[] {
  return groups === '' ? [] : groups.split(':').map((group) => Number.parseInt(group, 16))
}
