import { inspect } from 'node:util'
import { Failure } from '../failure.ts'

/** A secret value: every way of printing it gives `***`. */
export class Secret {
  #value: string
  readonly #read: (() => string) | undefined
  #problem: string | undefined
  /** Path of the setting that gives it, such as `api.accessKeyFile`; empty where it is no setting of its own. */
  readonly setting: string

  /** `read` reads the value again from its origin (a file); absent where the value cannot change. */
  constructor(value: string, read?: () => string, setting = '') {
    this.#value = value
    this.#read = read
    this.setting = setting
  }

  /** A secret whose value could not be read, for a command that does not use it: `reveal` throws the problem. */
  static unresolved(problem: string): Secret {
    const secret = new Secret('')
    secret.#problem = problem
    return secret
  }

  get isResolved(): boolean {
    return this.#problem === undefined
  }

  reveal(): string {
    if (this.#problem !== undefined) throw new Failure('stop', 'unauthorised', this.#problem)
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

/** All secrets in settings. */
export function secretsIn(value: unknown): Secret[] {
  if (value instanceof Secret) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretsIn) : []
}
