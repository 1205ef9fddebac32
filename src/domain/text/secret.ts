import { inspect } from 'node:util'

/** A value that never shows itself: every way of printing it gives `***`. */
export class Secret {
  #value: string
  readonly #read: (() => string) | undefined

  /** `read` gives the value anew from where it came from (a file); absent where nothing can change. */
  constructor(value: string, read?: () => string) {
    this.#value = value
    this.#read = read
  }

  reveal(): string {
    return this.#value
  }

  /** Reads the value again, for a secret that was refused. True when it has changed; on any error the old one stays. */
  reread(): boolean {
    if (this.#read === undefined) return false
    try {
      const next = this.#read()
      const changed = next !== this.#value
      this.#value = next
      return changed
    } catch {
      return false
    }
  }

  toString(): string {
    return '***'
  }

  toJSON(): string {
    return '***'
  }

  [inspect.custom](): string {
    return '***'
  }
}
