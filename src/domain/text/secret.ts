import { inspect } from 'node:util'

/** A secret value: every way of printing it gives `***`. */
export class Secret {
  #value: string
  readonly #read: (() => string) | undefined

  /** `read` reads the value again from its origin (a file); absent where the value cannot change. */
  constructor(value: string, read?: () => string) {
    this.#value = value
    this.#read = read
  }

  reveal(): string {
    return this.#value
  }

  /** Reads the value again after a server refused it. True when it has changed; on any error the old value stays. */
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
