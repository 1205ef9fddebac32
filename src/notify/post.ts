import { hostname } from 'node:os'
import type { Dispatcher } from 'undici'
import { Failure } from '../domain/failure.ts'
import type { Notice } from '../domain/notices.ts'
import { withDeadline } from '../domain/promises.ts'
import type { Secret } from '../domain/text/secret.ts'
import type { Clock } from '../ports/process.ts'
import { createDispatcher } from '../transport/dispatcher.ts'
import { networkFailure } from '../transport/network-failure.ts'
import { bodies, type PlaceKind } from './bodies.ts'

/** Somewhere that is told of problems. */
export interface Place {
  readonly name: string
  readonly kind: PlaceKind
  readonly url: Secret
  readonly routingKey?: Secret | undefined
}

const timeoutMs = 10_000

/** Requests to the places, and the heartbeat. Its addresses are secrets, and in no message. */
export class Messenger {
  readonly #dispatcher: Dispatcher = createDispatcher({ connections: 2 })
  readonly #clock: Clock
  readonly #version: string

  constructor(clock: Clock, version: string) {
    this.#clock = clock
    this.#version = version
  }

  /** Throws Failure unless the place accepts the notice. */
  async tell(
    { name, kind, url, routingKey }: Place,
    notice: Notice,
    storeId: string,
    signal: AbortSignal,
  ): Promise<void> {
    const speaker = { host: hostname(), version: this.#version, storeId }
    const key = routingKey === undefined ? {} : { routingKey: routingKey.reveal() }
    const { body, headers } = bodies[kind](notice, { ...speaker, ...key })
    await this.#send(`notify ${name}`, url, { method: 'POST', body, headers }, signal)
  }

  /** In the form of healthchecks.io: with reasons why something is wrong, its address with `/fail`. */
  async beat(url: Secret, reasons: readonly string[], signal: AbortSignal): Promise<void> {
    const fail = { method: 'POST', body: reasons.join('\n'), more: '/fail' } as const
    await this.#send('heartbeat', url, reasons.length === 0 ? { method: 'GET' } : fail, signal)
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy()
  }

  async #send(
    what: string,
    url: Secret,
    request: {
      readonly method: 'GET' | 'POST'
      readonly body?: string
      readonly headers?: Readonly<Record<string, string>>
      readonly more?: string
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { method, body, headers, more = '' } = request
    const { origin, pathname, search, username, password } = new URL(url.reveal())
    const login = username + password === '' ? undefined : basicLogin(username, password)
    try {
      const status = await withDeadline(timeoutMs, signal, this.#clock, async (whole) => {
        const answer = await this.#dispatcher.request({
          origin,
          path: pathname.replace(/\/$/, more === '' ? '/' : '') + more + search,
          method,
          headers: {
            'user-agent': `shieldlog/${this.#version}`,
            ...(login !== undefined && { authorization: login }),
            ...headers,
          },
          ...(body !== undefined && { body }),
          signal: whole,
        })
        await answer.body.dump({ limit: 65_536, signal: whole })
        return answer.statusCode
      })
      if (status >= 200 && status < 300) return
      url.reread()
      throw new Failure('retry', 'rejected', `${what}: answered ${status}; check its url`)
    } catch (error) {
      throw networkFailure(error, what, signal)
    }
  }
}

/** The parts as a parsed URL has them; unlike decodeURIComponent this takes a lone `%` as it is. */
function basicLogin(username: string, password: string): string {
  const [user, word] = [username, password].map((text) =>
    text.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16))),
  )
  return `Basic ${Buffer.from(`${user}:${word}`, 'latin1').toString('base64')}`
}
