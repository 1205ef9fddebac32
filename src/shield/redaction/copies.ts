import { percentDecoded } from '../../domain/text/decode.ts'

export const redacted = '[redacted]'

/** Shorter texts occur everywhere; masking them would make events unreadable and hide nothing. */
const shortest = 6
/** Of one entry: clients decide how many there are, and each costs time. */
const mostValues = 256
/** Of values that begin alike: each of them is compared wherever a text has their beginning. */
const mostAlike = 8

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

  #add(text: string): void {
    this.#addForm(text)
    // Decoded once: a text of `%252525…` would have as many forms as it has signs.
    if (/[%+]/.test(text)) this.#addForm(percentDecoded(text.replaceAll('+', ' ')) ?? text)
  }

  #addForm(form: string): void {
    // The replacement text itself must not be masked again.
    if (form.length < shortest || redacted.includes(form)) return
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
    let [clean, from, key] = ['', 0, 0]
    for (let at = 0; at < text.length; at++) {
      key = shifted(key, text.charCodeAt(at))
      if ((lastSigns & (1 << (key & 31))) === 0) continue
      const start = at + 1 - window
      const alike = start < from ? undefined : values.get(key)
      if (alike === undefined) continue
      const [copy] = alike
        .filter((value) => text.startsWith(value, start))
        .sort((a, b) => b.length - a.length)
      if (copy === undefined) continue
      clean += text.slice(from, start) + redacted
      from = start + copy.length
    }
    return from === 0 ? text : clean + text.slice(from)
  }
}

/** Signs that a key is made of. */
const window = 4

/** The key of the last four signs: each step moves the oldest one out of 32 bits. */
function shifted(key: number, sign: number): number {
  return (key << 8) ^ sign
}
