export const redacted = '[redacted]'

/** In characters, decoded. Shorter texts occur everywhere; masking them would make events unreadable and hide nothing. */
const shortest = 6
/** Of one entry: clients decide how many there are, and each costs time. */
const mostValues = 256
/** Of values that begin alike: each of them is compared wherever a text has their beginning. */
const mostAlike = 8
/** As much of the beginning of a value is a copy of it: one that was cut, and no text is compared further in vain. */
const longBeginning = 128

/** A text in the form in which copies are compared. */
interface Plain {
  readonly text: string
  /** Until the next text: where each of its signs, and its end, stands in the text as it was; absent if nothing moved. */
  readonly starts?: Uint32Array
}

/**
 * In lower case, percent-decoded as often as it is encoded, a plus as a space: a value may stand encoded in a query and
 * decoded in a header, and rules of a firewall decode what they match and put it into lower case. Its signs are bytes.
 */
function plainOf(text: string): Plain {
  if (!/[%+\x80-\uffff]/.test(text)) return { text: text.toLowerCase() }
  const { bytes, starts } = 3 * text.length < room.starts.length ? room : roomFor(3 * text.length)
  const end = bytes.write(text)
  let [length, at] = [0, 0]
  for (let index = 0; index < end; index++) {
    const byte = bytes[index]!
    starts[length] = at
    bytes[length++] = byte
    // A text of `%252525…` shrinks with each of its escapes.
    while (length > 2 && bytes[length - 3] === percent) {
      const code = hexOf(bytes[length - 2]!) * 16 + hexOf(bytes[length - 1]!)
      if (Number.isNaN(code)) break
      length -= 2
      bytes[length - 1] = code
    }
    if (bytes[length - 1] === plus) bytes[length - 1] = space
    // A sign of the text has up to four bytes, and two units where it has four.
    if (byte < 0x80 || byte >= 0xc0) at += byte >= 0xf0 ? 2 : 1
  }
  starts[length] = at
  return { text: bytes.toString('latin1', 0, length).toLowerCase(), starts }
}

const [percent, plus, space] = [0x25, 0x2b, 0x20]
const roomFor = (bytes: number) => ({ bytes: Buffer.alloc(bytes), starts: new Uint32Array(bytes + 1) })
/** Of nearly every text: room of its own would cost more than reading it. */
const room = roomFor(4_096)

function hexOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : NaN
}

/** The hidden values of one entry, and each value inside them. */
export class Copies {
  /** By the beginning of each. */
  readonly #values = new Map<number, string[]>()
  #count = 0
  /** A bit for the last sign of each beginning: most signs of a text need no more than a look at it. */
  #lastSigns = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** For the next entry. */
  clear(): void {
    if (this.#count === 0) return
    this.#values.clear()
    this.#count = 0
    this.#lastSigns = 0
  }

  /** Of a value: itself, and each value in a list such as `sid=abc; theme=dark`, `a=b&c=d` or `Bearer abc`. */
  remember(value: string): void {
    if (this.#count >= mostValues) return
    const whole = value.trim()
    this.#add(whole)
    if (!/[;,&\s=]/.test(whole)) return
    for (const part of whole.split(/[;,&\s]+/, mostValues)) {
      if (part !== whole) this.#add(part)
      const equals = part.indexOf('=')
      if (equals >= 0) this.#add(part.slice(equals + 1).replace(/^"|"$/g, ''))
    }
  }

  #add(value: string): void {
    const form = plainOf(value).text
    // The replacement text itself must not be masked again.
    if (form.length < shortest || redacted.includes(form)) return
    if (form.replace(/[\x80-\xbf]+/g, '').length < shortest) return
    let key = 0
    for (let at = 0; at < window; at++) key = shifted(key, form.charCodeAt(at))
    this.#lastSigns |= 1 << (key & 31)
    const alike = this.#values.get(key)
    if (alike === undefined) this.#values.set(key, [form])
    else if (alike.length < mostAlike && !alike.includes(form)) alike.push(form)
    this.#count++
  }

  /** Masks them in a text, in one pass over it however many they are. */
  hideIn(text: string): string {
    const [values, lastSigns] = [this.#values, this.#lastSigns]
    const { text: plain, starts } = plainOf(text)
    // The end of the last copy, in the plain text and in the text as it was.
    let [clean, from, end, key] = ['', 0, 0, 0]
    for (let at = 0; at < plain.length; at++) {
      key = shifted(key, plain.charCodeAt(at))
      if ((lastSigns & (1 << (key & 31))) === 0) continue
      const start = at + 1 - window
      const alike = start < from ? undefined : values.get(key)
      if (alike === undefined) continue
      const length = Math.max(...alike.map((value) => copiedLength(value, plain, start)))
      if (length === 0) continue
      from = start + length
      clean += text.slice(end, starts === undefined ? start : starts[start]) + redacted
      end = starts === undefined ? from : starts[from]!
    }
    return end === 0 ? text : clean + text.slice(end)
  }
}

/** How much of the value stands at `start`; 0 where that is no copy. */
function copiedLength(value: string, plain: string, start: number): number {
  let length = 0
  while (length < value.length && value.charCodeAt(length) === plain.charCodeAt(start + length)) length++
  return length === value.length || length >= longBeginning ? length : 0
}

/** Signs that a key is made of. */
const window = 4

/** The key of the last four signs: each step moves the oldest one out of 32 bits. */
function shifted(key: number, sign: number): number {
  return (key << 8) ^ sign
}
