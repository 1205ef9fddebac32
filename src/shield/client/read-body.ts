import { secondReading } from '../../domain/text/second-reading.ts'
import { parsedJson } from '../../domain/text/decode.ts'
import { printable } from '../../domain/text/terminal-text.ts'

/** The body of an answer: JSON, or what it is instead. */
export interface Body {
  /** Undefined where the body is no JSON. */
  readonly value: unknown
  /** The byte, from 0, of the first raw control character or bad escape that was read all the same. */
  readonly repairedAt?: number
  /** What was received instead of JSON, for people. Nothing of an event, but it may repeat the request. */
  readonly instead?: string
}

/** Invalid UTF-8 becomes U+FFFD, so one bad byte costs no page. `what` names the body where it is broken JSON. */
export function readBody(received: Buffer, what: string, parse = parsedJson): Body {
  const text = received.toString('utf8')
  const isMarked = text.charCodeAt(0) === 0xfeff
  const own = isMarked ? text.slice(1) : text
  const value = parse(own)
  if (value !== undefined) return { value }
  // Of one character for each byte: where it is broken is a byte then.
  const bytes = received.toString('latin1', isMarked ? 3 : 0)
  const reading = secondReading(own)
  const inBytes = secondReading(bytes)
  const byteOf = (at: number) => at + received.length - bytes.length
  if ('json' in reading && 'json' in inBytes)
    return { value: parse(reading.json), repairedAt: byteOf(inBytes.repairedAt) }
  const brokenAt = 'brokenAt' in inBytes ? inBytes.brokenAt : bytes.length
  const found = foundAt(bytes, brokenAt)
  if (/^\s*[{["]/.test(own) && !isUtf16(received))
    return {
      value: undefined,
      instead: `${what} is invalid JSON at byte ${byteOf(brokenAt)} of ${received.length}: ${found}`,
    }
  return { value: undefined, instead: `the answer is no JSON but ${kindOf(received, own)}` }
}

/** Words of programs that write their own values in place of JSON. */
const words = /(?:-?Infinity|NaN|nan|undefined|None|True|False)\b/y

/** A single character, or one of those words: after a missing quote, what follows is text of a client. */
function foundAt(bytes: string, at: number): string {
  if (at >= bytes.length) return 'it ends there'
  words.lastIndex = at
  const word = words.exec(bytes)?.[0]
  if (word !== undefined) return `${word} stands there`
  return `${/[!-~]/.test(bytes[at]!) ? bytes[at] : 'an unprintable byte'} stands there`
}

/** A page of a person's browser says what matters at its beginning. */
const mostRead = 8_192
const mostShown = 100
/** May be an event. */
const fromBracket = /[{[][^]*/

function kindOf(received: Buffer, text: string): string {
  if (received.length === 0) return 'empty'
  if (isUtf16(received)) return 'UTF-16'
  if (text.trim() === '') return 'blank'
  const begin = text.slice(0, mostRead)
  if (!/^\s*</.test(begin)) {
    const plain = shown(begin.replace(fromBracket, ''))
    return plain === '' ? 'something else' : `text: ${plain}`
  }
  const title = /<title[^>]*>([^<]+)/i.exec(begin)?.[1]
  // XML may be the events in another form.
  if (!/<(?:!doctype html|html|head|title|body|center|div|p|h\d)\b/i.test(begin)) {
    const root = /<([a-z][\w:.-]*)/i.exec(begin)?.[1]
    return root === undefined ? 'XML' : `XML that begins with ${printable(root, mostShown)}`
  }
  const body = begin.replace(/<(script|style)\b[^]*?(?:<\/\1>|$)/gi, ' ').replace(/<[^>]*>?/g, ' ')
  const words = shown(title ?? body.replace(fromBracket, ''))
  return `HTML${words === '' ? '' : `${title === undefined ? ': ' : ' with the title '}${words}`}`
}

function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line === '' ? '' : JSON.stringify(printable(line, mostShown))
}

function isUtf16(received: Buffer): boolean {
  // A byte order mark, or a zero beside the first character.
  return /^(?:\xff\xfe|\xfe\xff|\0|[^]\0)/.test(received.toString('latin1', 0, 2))
}
