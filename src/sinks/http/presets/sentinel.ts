import * as z from 'zod'
import { httpUrl } from '../../../fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import { Failure, isFailure } from '../../../domain/failure.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import { notBefore, retryAtOf } from '../exchanges.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'
import { type Authorisation, below, jsonOf, type Preset, readPage, readStatus } from '../protocol/preset.ts'
import { masked } from '../secrets.ts'

const text = (description: string) => z.string().min(1).describe(description)

/**
 * Microsoft Sentinel through the Logs Ingestion API of Azure Monitor:
 * https://learn.microsoft.com/azure/azure-monitor/logs/logs-ingestion-api-overview. `204` is the acknowledgement.
 */
export const sentinel = definePreset({
  name: 'sentinel',
  title: 'Microsoft Sentinel',
  description: 'Rows for a custom table of Microsoft Sentinel, through a data collection rule',
  // The limit of 1 MB applies before and after compression.
  batch: { maxBytes: limits.maxBytes(1_000_000) },
  credential: { field: 'clientSecret', description: 'Secret of the application' },
  settings: {
    url: httpUrl('Logs ingestion endpoint of the rule', 'give clientSecret'),
    ruleId: text('Immutable id of the data collection rule: dcr-…'),
    stream: text('Stream of the rule: Custom-…'),
    tenantId: text('Directory (tenant) id'),
    clientId: text('Application (client) id'),
    loginUrl: httpUrl('Address that issues tokens', 'give clientSecret').default(
      'https://login.microsoftonline.com',
    ),
    scope: text('Scope of the token').default('https://monitor.azure.com/.default'),
  },
  create({ url, ruleId, stream, tenantId, clientId, loginUrl, scope }, _format, clientSecret) {
    const path = ['', 'dataCollectionRules', ruleId, 'streams', stream].map(encodeURIComponent).join('/')
    const address = new URL(below(url, path))
    address.searchParams.set('api-version', '2023-01-01')
    const tokenUrl = new URL(below(loginUrl, `/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`))
    return {
      url: address.href,
      authorise: createClientCredentials({ tokenUrl, clientId, clientSecret: clientSecret!, scope }),
      piece: rowOf,
      acknowledges: [204],
      remedies: {
        403: 'grant the application the role Monitoring Metrics Publisher on the rule; a new grant takes up to 30 minutes',
        404: 'check url, ruleId and stream',
      },
      check: { body: '[]', found: 'accepted the token and an empty batch' },
    }
  },
})

/** Id and time of a native line, which follow its version. */
const identity = /^(\{"v":1),"id":"(?:[^"\\]|\\.)*"(?:,"time":"[^"]*")?/

/**
 * Tables reserve the name `id`, and Azure replaces a `TimeGenerated` more than two days old by the time of arrival: id and
 * time have columns of their own. Azure drops columns that the rule does not declare; config/sentinel declares all.
 */
function rowOf({ id, time }: Event, line: string): string {
  const own = JSON.stringify({ TimeGenerated: time, EventTime: time, EventId: id.toWellFormed() })
  return `${own.slice(0, -1)},${line.replace(identity, '$1').slice(1)}`
}

interface ClientCredentials {
  readonly tokenUrl: URL
  readonly clientId: string
  readonly clientSecret: Secret
  readonly scope: string
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
 * An access token by the client credentials grant (RFC 6749, section 4.4). Kept until shortly before it expires, the
 * destination refuses it or the secret changes; requests that need one at the same time share one request for it, and a
 * pause that the address of tokens asks for holds for all of them.
 */
export function createClientCredentials(client: ClientCredentials): NonNullable<Preset['authorise']> {
  let held: Held | undefined

  function begin(secret: string, request: Authorisation): Held {
    const begun: Held = { secret, token: askForToken(client, secret, request), untilMs: Infinity }
    begun.token.then(
      ({ oldMs }) => (begun.untilMs = oldMs),
      (error: unknown) => (begun.untilMs = isFailure(error) ? (error.details.retryAt ?? 0) : 0),
    )
    return begun
  }

  return async (request) => {
    for (;;) {
      const secret = client.clientSecret.reveal()
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

/** The header with a new token, and from when on another one is requested. */
async function askForToken(
  { tokenUrl, clientId, scope }: ClientCredentials,
  clientSecret: string,
  { ask, nowMs }: Authorisation,
): Promise<{ readonly header: string; readonly oldMs: number }> {
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
  const json = jsonOf(answer)
  const text = json.text('access_token')
  if (answer.status === 200 && text !== '') {
    const lifeMs = (json.number('expires_in') || 3600) * 1000
    return { header: `Bearer ${text}`, oldMs: nowMs + Math.max(lifeMs - earlyMs, lifeMs / 2) }
  }
  const said = ['error', 'error_description'].map((name) => json.text(name)).filter((each) => each !== '')
  // Before the cut, which could leave the beginning of the secret; and the one that was sent, which may be replaced by now.
  const shown = masked(said.join(': '), [clientSecret]).slice(0, 300)
  const excerpt = shown === '' ? '' : ` (${shown})`
  const why = `${tokenUrl.host} answered ${answer.status} to the request for a token${excerpt}`
  const verdict = readPage(answer) ?? readStatus(answer.status, [])
  if (verdict.kind === 'retry') throw notBefore(retryAtOf(answer, nowMs), verdict.code, why)
  throw new Failure('stop', 'sink_refuses', `${why}: check the tenant, the client and its secret`)
}
