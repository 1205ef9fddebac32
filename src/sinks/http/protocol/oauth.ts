import { Failure, isFailure } from '../../../domain/failure.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import { answerObject, numberAt, textAt } from './answer-json.ts'
import type { Authorisation, Preset } from './preset.ts'

export interface ClientCredentials {
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

/**
 * An access token by the client credentials grant (RFC 6749, section 4.4). Kept until shortly before it expires or the
 * destination refuses it; requests that need one at the same time share one request for it.
 */
export function createClientCredentials(client: ClientCredentials): NonNullable<Preset['authorise']> {
  let token: Token | undefined
  let asking: Promise<Token> | undefined

  /** A caller that was stopped takes its request for a token with it: the others ask again. */
  async function asked(request: Authorisation): Promise<Token> {
    for (;;) {
      const isOwn = asking === undefined
      // Callers that share the request share its failure; the next try requests again.
      asking ??= askForToken(client, request).finally(() => (asking = undefined))
      try {
        return await asking
      } catch (error) {
        if (isOwn || !isFailure(error, 'cancelled')) throw error
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
  { tokenUrl, clientId, clientSecret, scope }: ClientCredentials,
  { ask, nowMs }: Authorisation,
): Promise<Token> {
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret.reveal(),
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
  const why = `${tokenUrl.host} answered ${status} to the request for a token${said.length > 0 ? ` (${said.join(': ').slice(0, 300)})` : ''}`
  if (status === 429 || status >= 500 || status === 408 || status === 200)
    throw new Failure('retry', 'server_error', why)
  throw new Failure('stop', 'sink_refuses', `${why}: check the tenant, the client and its secret`)
}
