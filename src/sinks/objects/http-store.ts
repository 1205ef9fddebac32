import { isDeepStrictEqual } from 'node:util'
import { Failure, isFailure } from '../../domain/failure.ts'
import { orAborted } from '../../domain/promises.ts'
import type { Tls } from '../../domain/tls.ts'
import { type Answer, headerOf, isSuccess } from '../../transport/exchange.ts'
import { isUnsent } from '../../transport/network-failure.ts'
import { createTries } from '../../transport/retry.ts'
import { createExchanges } from '../http/exchanges.ts'
import {
  type AskedElsewhere,
  type Authorisation,
  delivered,
  type Retry,
  type Stop,
} from '../http/protocol/preset.ts'
import { masked } from '../http/secrets.ts'
import type { Created, Listed, Metadata, ObjectKind, ObjectStore, Right, StoreDeps } from './store.ts'

/** What an error answer means. `again`: the same request may be sent once more at once, since it is made otherwise now. */
export type Refusal = Retry | (Stop & { readonly again?: true })

export interface Unsigned {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly nowMs: number
}

/** How a service speaks of objects: all that differs between two services. */
export interface Protocol<Credentials extends object> {
  /** For people. */
  readonly address: string
  /** Where the keys begin; ends with a slash. */
  readonly base: URL
  /** In front of each name of metadata, as a header. */
  readonly metadataPrefix: string
  /** Headers of a new object: only where the key is free, and what it is stored as. */
  readonly creation: Readonly<Record<string, string>>
  /** A body that was sent may be there although the answer is an error, and no condition keeps a second one out. */
  readonly isUnconditional?: boolean
  /**
   * The credentials for now, never expired ones, all of whose values are secrets. `refused` are those that the service
   * has just refused: others, or the same ones read again, are wanted. `ask` asks another address, such as that of
   * tokens. Throws Failure: `stop` where there are none.
   */
  credentials(refused: Credentials | undefined, ask: Authorisation['ask']): Promise<Credentials>
  sign(
    request: Unsigned,
    credentials: Credentials,
  ): Promise<{ readonly path: string; readonly headers: Unsigned['headers'] }>
  /**
   * What the answer to the creation of an object came to; undefined where it is an error. `refused`: it may be that the
   * key is taken, and these rights do not allow more.
   */
  created(answer: Answer): Created | 'refused' | undefined
  /** Whether the answer says that no object has the key. */
  isMissing(answer: Answer): boolean
  /** Reads an answer that is neither a success nor one of those above. */
  refusal(answer: Answer, right: Right): Refusal
  /** The query of a listing of keys that begin so; `after`: its next page. */
  listing(prefix: string, after: string | undefined): URLSearchParams
  /** A page of a listing; undefined for an answer of anything else. */
  listed(xml: string): { readonly objects: readonly Listed[]; readonly next: string | undefined } | undefined
}

interface Settings {
  readonly name: string
  readonly tls: Tls
  readonly timeoutSeconds: number
}

interface Request extends Pick<Unsigned, 'method'> {
  /** Empty for all of the place. */
  readonly key: string
  readonly right: Right
  readonly query?: URLSearchParams
  readonly headers?: Unsigned['headers']
  readonly body?: Buffer
  readonly maxBytes?: number
  /** Whether the caller reads an answer that is no success. */
  expects?(answer: Answer): boolean
}

const maxObjectBytes = 268_435_456
/** As services answer where another write of the key is under way. */
const inDoubt: Answer = { status: 409, headers: {}, body: Buffer.alloc(0) }

/** Objects over the HTTP of the project: tries, renewed credentials, masked answers, a count of each request. */
export class HttpStore<Credentials extends object> implements ObjectStore {
  readonly address: string
  readonly #protocol: Protocol<Credentials>
  readonly #deps: StoreDeps
  readonly #what: string
  readonly #exchanges: ReturnType<typeof createExchanges>
  /** The latest that requests were signed with. */
  #used: Credentials | undefined

  constructor(settings: Settings, protocol: Protocol<Credentials>, deps: StoreDeps) {
    const { address, base } = protocol
    this.address = address
    this.#protocol = protocol
    this.#deps = deps
    this.#what = `sink ${settings.name} (${address})`
    const secrets = () => Object.values(this.#used ?? {}).filter((value) => typeof value === 'string')
    const mask = (text: string) => masked(text, secrets())
    this.#exchanges = createExchanges({ ...settings, what: this.#what, base, mask }, deps)
  }

  async create(key: string, body: Buffer, kind: ObjectKind, signal: AbortSignal): Promise<Created> {
    const protocol = this.#protocol
    const metadata = Object.entries(kind.metadata)
    const headers = {
      'content-type': kind.contentType,
      ...protocol.creation,
      ...Object.fromEntries(metadata.map(([name, value]) => [protocol.metadataPrefix + name, value])),
    }
    const expects = (answer: Answer) => protocol.created(answer) !== undefined
    let answer: Answer
    try {
      answer = await this.#ask({ method: 'PUT', key, headers, body, right: 'create', expects }, signal)
    } catch (error) {
      // A service that refuses before it has read the body may close the connection: then the answer is lost.
      if (isFailure(error, 'network', 'timeout') && !isUnsent(error)) return 'unknown'
      throw error
    }
    const created = protocol.created(answer)
    if (created === undefined)
      throw this.#failed(answer, 'this is not an answer of such a service: check endpoint')
    if (created !== 'refused') return created
    if ((await this.head(key, signal)) !== undefined) return 'exists'
    throw this.#exchanges.failureOf(protocol.refusal(answer, 'create'), answer)
  }

  async head(key: string, signal: AbortSignal) {
    const { isMissing, metadataPrefix } = this.#protocol
    const answer = await this.#ask({ method: 'HEAD', key, right: 'read', expects: isMissing }, signal)
    if (isMissing(answer)) return undefined
    const named = Object.entries(answer.headers).flatMap(([name, value]) =>
      name.startsWith(metadataPrefix) ? [[name.slice(metadataPrefix.length), String(value)] as const] : [],
    )
    const metadata: Metadata = Object.fromEntries(named)
    return { bytes: Number(headerOf(answer, 'content-length') ?? 0), metadata }
  }

  async get(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
    const { isMissing } = this.#protocol
    const request = {
      method: 'GET',
      key,
      right: 'read',
      expects: isMissing,
      maxBytes: maxObjectBytes,
    } as const
    const answer = await this.#ask(request, signal)
    if (isMissing(answer)) return undefined
    if (answer.unread === undefined) return answer.body
    throw this.#failed(answer, `object ${key} cannot be read, or is too large`, 'retry')
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<Listed> {
    const { listing, listed } = this.#protocol
    let after: string | undefined
    const tokens = new Set<string>()
    do {
      const query = listing(prefix, after)
      const answer = await this.#ask({ method: 'GET', key: '', query, right: 'list' }, signal)
      const page = listed(answer.body.toString())
      if (page === undefined)
        throw this.#failed(answer, 'this is not a listing of such a service: check endpoint')
      yield* page.objects
      after = page.next
      if (after !== undefined && tokens.size === tokens.add(after).size)
        throw this.#failed(answer, 'the listing does not go on', 'retry')
    } while (after !== undefined)
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    const { isMissing } = this.#protocol
    await this.#ask({ method: 'DELETE', key, right: 'remove', expects: isMissing }, signal)
  }

  close(): Promise<void> {
    return this.#exchanges.close()
  }

  async #ask(request: Request, signal: AbortSignal): Promise<Answer> {
    const mayTryAgain = createTries(this.#deps)
    const isPut = request.method === 'PUT'
    for (;;) {
      try {
        return await this.#once(request, signal)
      } catch (error) {
        // Whether a PUT without an answer was carried out, its caller must find out.
        const isOpen = isPut && !isFailure(error, 'server_error', 'throttled')
        if (isOpen || !(await mayTryAgain(error, signal))) throw error
        // One with an error may have been, too: then only its condition would keep a second one from writing.
        const mayBeThere = isPut && this.#protocol.isUnconditional === true
        if (mayBeThere && (await this.head(request.key, signal)) !== undefined) return inDoubt
      }
    }
  }

  /** One try, and another at once with renewed credentials, or made otherwise, where the answer asks for that. */
  async #once(request: Request, signal: AbortSignal): Promise<Answer> {
    for (let isFirst = true; ; isFirst = false) {
      const used = await this.#credentials(undefined, signal)
      const { answer, verdict } = await this.#exchange(request, used, signal)
      if (verdict.kind === 'delivered') return answer
      if (isFirst && verdict.kind === 'stop') {
        if (verdict.again === true) continue
        const isRenewed = async () => !isDeepStrictEqual(await this.#credentials(used, signal), used)
        if (verdict.credentials === true && (await isRenewed())) continue
      }
      throw this.#exchanges.failureOf(verdict, answer)
    }
  }

  async #credentials(refused: Credentials | undefined, signal: AbortSignal): Promise<Credentials> {
    const ask = (elsewhere: AskedElsewhere) => this.#exchanges.ask(elsewhere, signal)
    try {
      return (this.#used = await orAborted(this.#protocol.credentials(refused, ask), signal))
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled' || error.message.startsWith(this.#what)) throw error
      throw new Failure(error.kind, error.code, `${this.#what}: ${error.message}`, error.details)
    }
  }

  #exchange(request: Request, used: Credentials, signal: AbortSignal) {
    const { method, body, right, expects } = request
    const read = (answer: Answer) => {
      const isGood = isSuccess(answer.status)
      const isExpected = isGood || expects?.(answer) === true
      const verdict = isExpected ? delivered : this.#protocol.refusal(answer, right)
      return { verdict, bytes: method === 'PUT' && isGood ? (body?.length ?? 0) : 0 }
    }
    return this.#exchanges.counted(() => this.#signed(request, used), read, signal)
  }

  async #signed({ method, key, query, headers = {}, body, maxBytes }: Request, used: Credentials) {
    const { base } = this.#protocol
    const url = new URL(base)
    if (key !== '') url.pathname += key.split('/').map(encoded).join('/')
    // All places that it is read from take %20 for a space.
    url.search = query?.toString().replaceAll('+', '%20') ?? ''
    const { clock, version } = this.#deps
    const signed = await this.#protocol.sign({ method, url, headers, body, nowMs: clock.now() }, used)
    const own = { 'user-agent': `shieldlog/${version}` }
    return { ...signed, headers: { ...signed.headers, ...own }, origin: base.origin, method, body, maxBytes }
  }

  /** For an answer that is no error, and yet of no use. */
  #failed({ status }: Answer, why: string, kind: 'stop' | 'retry' = 'stop'): Failure {
    const code = kind === 'stop' ? 'sink_refuses' : 'bad_body'
    return new Failure(kind, code, `${this.#what} answered ${status}: ${why}`)
  }
}

function encoded(segment: string): string {
  return encodeURIComponent(segment).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/** The text of the first XML element of that name that holds no others; undefined without one. */
export function elementOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`).exec(xml)?.[1]
  // A number such as #39 or #x27 is what some services write for a quotation mark.
  return text?.replaceAll(
    /&(?:#(x[\da-f]{1,5}|\d{1,6})|([a-z]+));/gi,
    (whole: string, number?: string, word?: string) =>
      number === undefined ? (entities[word!] ?? whole) : String.fromCodePoint(Number(`0${number}`)),
  )
}
