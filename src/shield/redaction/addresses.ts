import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import type { Secret } from '../../domain/text/secret.ts'
import { redacted } from './copies.ts'

export interface AddressSettings {
  readonly addresses: 'keep' | 'mask' | 'drop' | 'hash'
  readonly addressKey?: Secret | undefined
}

/** What stands in place of an address. */
export function standIn({ addresses, addressKey }: AddressSettings): (address: string) => string {
  if (addresses === 'mask') return maskAddress
  if (addresses !== 'hash') return () => redacted
  // The key is read when an address is hashed: a command that reads no event does without it.
  return (address) => {
    const keyed = createHmac('sha256', addressKey!.reveal()).update(plainAddress(address))
    return `h:${keyed.digest('hex').slice(0, 16)}`
  }
}

const maskedAddress = /^[\da-f.:]*\*$/i

/** What stands in an address field of a stored event, which is redacted a second time. */
const hidden: Partial<Record<AddressSettings['addresses'], RegExp>> = {
  mask: /[.:]\*/,
  drop: /\[redacted\]/,
  hash: /\bh:[\da-f]{16}\b/,
}

/** A field that holds an address and nothing else. */
export function hideAddressField(
  text: string,
  addresses: AddressSettings['addresses'],
  hide: (address: string) => string,
): string {
  if (addresses !== 'mask' && maskedAddress.test(text)) return hide(text)
  const kept = replaceAddresses(text, hide)
  return kept !== text || hidden[addresses]?.test(text) === true ? kept : redacted
}

/** One spelling of an address: IPv6 in the short form, IPv4 also where it is mapped into IPv6. */
export function plainAddress(address: string): string {
  if (isIP(address) !== 6) return address
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(short)?.slice(1)
  if (mapped === undefined) return short
  return mapped.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]).join('.')
}

/** Colons may be percent-encoded, and what is before may be an escape: `?ip=%5B2001%3Adb8%3A%3A1%5D`. */
const candidates =
  /(?:(?<=%(?:25){0,4}[\da-f]{2}|\\[nrt])|(?<![\w.%]))(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|[\da-f]{0,4}(?:(?::|%(?:25)*3a)[\da-f]{0,4}){2,8}(?:(?:\.\d{1,3}){3}(?!\w|\.\d)|(?:(?::|%(?:25)*3a)\d{5})?(?<![^:]:)(?!\w|\.\d|:[\w:]))\*?)/gi

/** Part of every address, and found in few other texts. */
const sign = /\.\d{1,3}\.\d{1,3}\.\d|:[\da-f]{0,4}:|%(?:25)*3a/i

/** By shieldlog, or by the API. */
const masked6 = /^(?:[\da-f]{1,4}:){1,4}:\*$/i

/** `Chrome/120.0.0.0`, `v="99.0.0.0"`, `version 1.2.3.4`. */
const versionBefore = /(?:(?:^|[\s(;,"'])[a-z][\w.-]*\/|\bv(?:er(?:sion)?)?["'=:\s]+)$/i

const withColons = (text: string) => text.replace(/%(?:25)*3a/gi, ':')

/** What is behind the address: a star, or a port, which is one group too many of an IPv6 address without brackets. */
function restOf(found: string): string {
  const star = found.endsWith('*') ? '*' : ''
  const port = /(?::|%(?:25)*3a)\d{1,5}\*?$/i
  return isIP(withColons(found.slice(0, found.length - star.length))) > 0
    ? star
    : (port.exec(found)?.[0] ?? star)
}

/** Lookalikes (a time, a version) stay, and so do masked addresses: a stored event is redacted a second time. */
export function replaceAddresses(text: string, replace: (address: string) => string): string {
  if (!sign.test(text)) return text
  return text.replace(candidates, (found, offset: number) => {
    const rest = restOf(found)
    const address = withColons(found.slice(0, found.length - rest.length))
    // `::` is nobody's address, and a sign of many languages.
    if (isIP(address) === 0 || address === '::' || masked6.test(found)) return found
    if (isIP(address) === 4 && versionBefore.test(text.slice(Math.max(0, offset - 64), offset))) return found
    return replace(address) + rest
  })
}

/** IPv4 without its last octet (`1.2.3.*`), IPv6 without its last four groups (`2001:db8:0:1::*`). */
export function maskAddress(address: string): string {
  if (/^(?:::ffff:)?[\d.]+$/i.test(address)) return address.replace(/\d+$/, '*')
  // A URL has groups only, and at most one run of zeros left out.
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [front = [], back] = written.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = back === undefined ? [] : Array<string>(8 - front.length - back.length).fill('0')
  return `${[...front, ...zeros, ...(back ?? [])].slice(0, 4).join(':')}::*`
}
