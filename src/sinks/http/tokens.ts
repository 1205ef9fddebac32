import { Failure, isFailure } from '../../domain/failure.ts'
import { notBefore, retryAtOf } from './exchanges.ts'
import { type AskedElsewhere, type Authorisation, jsonOf, readPage, readStatus } from './protocol/preset.ts'
import { masked } from './secrets.ts'

/** Where access tokens come from. */
export interface TokenSource {
  /** What a token is asked for with, in plain text: once it changes, the token is no longer used. Empty for none. */
  secret(): string
  request(secret: string): AskedElsewhere
  /** Where the request is refused. */
  readonly remedy: string
  /** Where nobody answers. */
  readonly unreachable?: string
}

/** A token, or the request for it, which all share. */
interface Held {
  readonly secret: string
  readonly token: ReturnType<typeof askForToken>
  /** Until the token is old; after a failure, until the address of tokens may be asked again. */
  untilMs: number
}

/** A new token is requested this long before the old one expires. */
const earlyMs = 120_000

/**
 * The header of an access token. Kept until shortly before the token expires, the destination refuses it or the secret
 * changes; requests that need one at the same time share one request for it, and a pause that the address of tokens asks
 * for holds for all of them.
 */
export function createTokens(source: TokenSource) {
  let held: Held | undefined

  function begin(secret: string, request: Asking): Held {
    const begun: Held = { secret, token: askForToken(source, secret, request), untilMs: Infinity }
    begun.token.then(
      ({ oldMs }) => (begun.untilMs = oldMs),
      (error: unknown) => (begun.untilMs = isFailure(error) ? (error.details.retryAt ?? 0) : 0),
    )
    return begun
  }

  return async (request: Asking): Promise<{ readonly authorization: string }> => {
    for (;;) {
      const secret = source.secret()
      const isShared = held?.secret === secret && request.nowMs < held.untilMs
      const current: Held = isShared ? held! : begin(secret, request)
      held = current
      try {
        const { header } = await current.token
        if (!isShared || header !== request.refused?.['authorization']) return { authorization: header }
        current.untilMs = 0
      } catch (error) {
        // A caller that was stopped takes its request for a token with it: the others ask again.
        if (!isShared || !isFailure(error, 'cancelled')) throw error
      }
    }
  }
}

type Asking = Pick<Authorisation, 'refused' | 'nowMs' | 'ask'>

interface ClientCredentials {
  readonly tokenUrl: URL
  readonly clientId: string
  readonly scope: string
}

/** The client credentials grant (RFC 6749, section 4.4), with the secret of the client or another proof. */
export function clientCredentials(
  { tokenUrl, clientId, scope }: ClientCredentials,
  proof: Readonly<Record<string, string>>,
): AskedElsewhere {
  const form = { grant_type: 'client_credentials', client_id: clientId, ...proof, scope }
  return {
    url: tokenUrl,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: Buffer.from(new URLSearchParams(form).toString()),
  }
}

/** The header with a new token, and from when on another one is requested. */
async function askForToken(
  source: TokenSource,
  secret: string,
  { ask, nowMs }: Asking,
): Promise<{ readonly header: string; readonly oldMs: number }> {
  const request = source.request(secret)
  const answer = await ask(request).catch((error: unknown) => {
    if (source.unreachable === undefined || !isFailure(error, 'network', 'timeout')) throw error
    throw new Failure(error.kind, error.code, `${error.message}: ${source.unreachable}`, error.details)
  })
  const json = jsonOf(answer)
  const text = json.text('access_token')
  if (answer.status === 200 && text !== '') {
    const untilMs = json.number('expires_on') * 1000
    const lifeMs = json.number('expires_in') * 1000 || (untilMs > nowMs ? untilMs - nowMs : 3_600_000)
    return { header: `Bearer ${text}`, oldMs: nowMs + Math.max(lifeMs - earlyMs, lifeMs / 2) }
  }
  const said = ['error', 'error_description'].map((name) => json.text(name)).filter((each) => each !== '')
  // Before the cut, which could leave the beginning of the secret; and the one that was sent, which may be replaced by now.
  const shown = masked(said.join(': '), [secret]).slice(0, 300)
  const excerpt = shown === '' ? '' : ` (${shown})`
  const why = `${request.url.host} answered ${answer.status} to the request for a token${excerpt}`
  const verdict = readPage(answer) ?? readStatus(answer.status, [])
  if (verdict.kind === 'retry') throw notBefore(retryAtOf(answer, nowMs), verdict.code, why)
  throw new Failure('stop', 'sink_refuses', `${why}: ${source.remedy}`)
}
