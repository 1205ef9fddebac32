import { createHmac } from 'node:crypto'
import * as z from 'zod'
import { headerSecret, secretFile } from '../../../config/fields/fields.ts'
import { Failure, isFailure } from '../../../domain/failure.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import { formsOf, maskText, retryAtOf, waitUntil } from '../answer-texts.ts'
import { answerObject, numberAt, readPage, readStatus, textAt } from './answers.ts'
import type { SettingMistake } from './define-preset.ts'
import type { Authorisation, Preset } from './preset.ts'

/** Settings for HTTP Basic authentication. */
export const basicSettings = {
  username: z.string().min(1).optional().describe('User name, with password'),
  password: headerSecret('Password of that user').optional(),
  passwordFile: secretFile('the password'),
}

export interface Basic {
  readonly username?: string | undefined
  readonly password?: Secret | undefined
}

export function basicOf({ username, password }: Basic): string | undefined {
  if (username === undefined || password === undefined) return undefined
  return `Basic ${Buffer.from(`${username}:${password.reveal()}`).toString('base64')}`
}

/** The errors: one of user name and password without the other, or both together with other credentials. */
export function basicMistakes({ username, password }: Basic, other: object | undefined, otherName: string) {
  const mistakes: SettingMistake[] = []
  const has = { username: username !== undefined, password: password !== undefined }
  if (has.username !== has.password)
    mistakes.push({
      at: has.username ? 'password' : 'username',
      problem: 'is missing',
      remedy: `give username with password, or ${otherName}`,
    })
  if (has.username && other !== undefined)
    mistakes.push({
      at: otherName,
      problem: 'cannot be used with username',
      remedy: `keep one of ${otherName} and username with password`,
    })
  return mistakes
}

/** The error if a required secret is set neither as text nor as a file. */
export function missing(name: string, value: Secret | undefined): readonly SettingMistake[] {
  if (value !== undefined) return []
  return [{ at: name, problem: 'is missing', remedy: `give ${name} or ${name}File` }]
}

/** One header with the current secret. */
export function header(name: string, value: () => string | undefined): NonNullable<Preset['authorise']> {
  return () => {
    const text = value()
    return Promise.resolve(text === undefined ? {} : { [name]: text })
  }
}

/** The current secret as a bearer token; no header without one. */
export function bearer(token: Secret | undefined): NonNullable<Preset['authorise']> {
  return header('authorization', () => token && `Bearer ${token.reveal()}`)
}

interface SignatureSettings {
  readonly header: string
  readonly secret?: Secret | undefined
  readonly algorithm: string
}

/** Signs each body as sent, the way webhooks do: `X-Signature: sha256=<hex>`. */
export function createSignature({
  header,
  secret,
  algorithm,
}: SignatureSettings): NonNullable<Preset['authorise']> {
  return ({ body }) => {
    const hex = createHmac(algorithm, secret?.reveal() ?? '')
      .update(body)
      .digest('hex')
    return Promise.resolve({ [header.toLowerCase()]: `${algorithm}=${hex}` })
  }
}

interface ClientCredentials {
  readonly tokenUrl: URL
  readonly clientId: string
  readonly clientSecret: Secret
  readonly scope: string
}

interface Token {
  readonly header: string
  /** From then on a new one is requested. */
  readonly oldMs: number
}

/** A new token is requested this long before the old one expires. */
const earlyMs = 120_000

interface Asking {
  readonly secret: string
  readonly token: Promise<Token>
}

/** No token is requested until then, unless the secret has changed. */
interface Pause {
  readonly secret: string
  readonly failure: Failure
  readonly untilMs: number
}

/**
 * An access token by the client credentials grant (RFC 6749, section 4.4). Kept until shortly before it expires or the
 * destination refuses it; requests that need one at the same time share one request for it, and a pause that the address
 * of tokens asks for holds for all of them.
 */
export function createClientCredentials(client: ClientCredentials): NonNullable<Preset['authorise']> {
  let token: Token | undefined
  let asking: Asking | undefined
  let pause: Pause | undefined

  /** A caller that was stopped takes its request for a token with it: the others ask again. */
  async function asked(request: Authorisation): Promise<Token> {
    for (;;) {
      const secret = client.clientSecret.reveal()
      if (pause?.secret === secret && request.nowMs < pause.untilMs) throw pause.failure
      const shared = asking?.secret === secret ? asking : undefined
      // Callers that share the request share its failure; the next try requests again.
      const own: Asking = shared ?? { secret, token: askForToken(client, secret, request) }
      asking = own
      try {
        return await own.token
      } catch (error) {
        const untilMs = isFailure(error) && error.kind === 'wait' ? error.details.retryAt : undefined
        if (untilMs !== undefined) pause = { secret, failure: error as Failure, untilMs }
        if (shared === undefined || !isFailure(error, 'cancelled')) throw error
      } finally {
        if (asking === own) asking = undefined
      }
    }
  }

  return async (request) => {
    if (
      token !== undefined &&
      (token.header === request.refused?.['authorization'] || token.oldMs <= request.nowMs)
    )
      token = undefined
    token ??= await asked(request)
    return { authorization: token.header }
  }
}

async function askForToken(
  { tokenUrl, clientId, scope }: ClientCredentials,
  clientSecret: string,
  { ask, nowMs }: Authorisation,
): Promise<Token> {
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope,
  }
  const answer = await ask({
    url: tokenUrl,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: Buffer.from(new URLSearchParams(form).toString()),
  })
  const { status } = answer
  const object = answerObject(answer)
  const text = textAt(object, 'access_token')
  if (status === 200 && text !== '') {
    const lifeMs = (numberAt(object, 'expires_in') || 3600) * 1000
    return { header: `Bearer ${text}`, oldMs: nowMs + Math.max(lifeMs - earlyMs, lifeMs / 2) }
  }
  const said = [textAt(object, 'error'), textAt(object, 'error_description').split(/[\r\n]/)[0]!].filter(
    (part) => part !== '',
  )
  // Before the cut, which could leave the beginning of the secret; and the one that was sent, which may be replaced by now.
  const shown = maskText(said.join(': '), formsOf([clientSecret])).slice(0, 300)
  const why = `${tokenUrl.host} answered ${status} to the request for a token${shown === '' ? '' : ` (${shown})`}`
  const verdict = readPage(answer) ?? readStatus(status, [])
  if (verdict.kind === 'retry') {
    const retryAt = retryAtOf(answer, nowMs)
    throw retryAt === undefined
      ? new Failure('retry', verdict.code, why)
      : waitUntil(retryAt, verdict.code, why)
  }
  throw new Failure('stop', 'sink_refuses', `${why}: check the tenant, the client and its secret`)
}
