import { Agent } from 'node:https'
import { Failure } from '../../domain/failure.ts'
import { headerValueError } from '../../domain/text/http-rules.ts'
import type { AwsKeys } from './settings.ts'

/** In plain text: never print them. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

/**
 * The credentials to sign with now, never expired ones. `refused` are those that the service has just refused: the
 * secrets are read again, or the chain of AWS is asked again. Throws Failure (stop) where there are none.
 */
type CredentialSource = (refused?: Credentials) => Promise<Credentials>

interface Settings extends AwsKeys {
  readonly region: string | null
}

export function credentialsOf(settings: Settings): CredentialSource {
  const { accessKeyId, secretAccessKey, sessionToken } = settings
  if (accessKeyId === undefined || secretAccessKey === undefined) return chainOf(settings)
  return (refused) => {
    // A file may have other contents by now than those that the configuration was checked with, and get the right ones later.
    const isUnusable = [accessKeyId, sessionToken].some((each) => headerValueError(each?.reveal() ?? '-'))
    if (refused !== undefined || isUnusable)
      for (const each of [accessKeyId, secretAccessKey, sessionToken]) each?.reread()
    const current = {
      accessKeyId: accessKeyId.reveal(),
      secretAccessKey: secretAccessKey.reveal(),
      sessionToken: sessionToken?.reveal(),
    }
    for (const key of ['accessKeyId', 'sessionToken'] as const) {
      const error = headerValueError(current[key] ?? '-')
      if (error !== undefined)
        throw new Failure('stop', 'sink_refuses', `${key} ${error.problem}: ${error.remedy}`)
    }
    return Promise.resolve(current)
  }
}

const silent = () => undefined
/** The chain would warn on stderr of two origins of credentials. */
const logger = { debug: silent, info: silent, warn: silent, error: silent }

/** Environment, files and profiles, SSO, processes, web identities, containers, instances. */
function chainOf({ profile, region }: Settings): CredentialSource {
  type Chain = (options?: { forceRefresh?: boolean }) => Promise<Credentials>
  let chain: Chain | undefined
  return async (refused) => {
    try {
      if (chain === undefined) {
        // It takes 15 MB and 100 ms that other configurations need not pay.
        const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
        // Of STS and SSO, which are on the internet; requests for metadata of the host or pod have agents of their own.
        const httpsAgent = new Agent({ keepAlive: true, proxyEnv: process.env })
        chain ??= defaultProvider({
          logger,
          // It asks only when credentials are needed anew: then the files may have changed.
          ignoreCache: true,
          ...(profile !== null && { profile }),
          clientConfig: { requestHandler: { httpsAgent }, ...(region !== null && { region }) },
        })
      }
      // It refreshes credentials five minutes before they expire.
      return await chain(refused === undefined ? {} : { forceRefresh: true })
    } catch (cause) {
      const isNone = cause instanceof Error && cause.name === 'CredentialsProviderError'
      const where = profile === null ? 'The chain of AWS' : `Profile ${profile}`
      // The text of the error may hold what a process printed.
      const why = cause instanceof Error ? cause.name : 'error'
      throw new Failure(
        isNone ? 'stop' : 'retry',
        isNone ? 'sink_refuses' : 'network',
        `${where} gives no credentials (${why}): set accessKeyId and secretAccessKey or profile, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the host or pod a role that may write there`,
        { cause },
      )
    }
  }
}

const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:ExpiredToken|ExpiredTokenException|TokenRefreshRequired|InvalidToken)\b|security token .*\bexpired/i,
    'the session token has expired: renew it, or use a role or profile that renews itself',
  ],
  [
    /^(?:InvalidAccessKeyId|XAdminUserNotFound|InvalidClientTokenId|InvalidSecurity)\b|security token .*\binvalid/i,
    'the service does not know this access key: check accessKeyId, and that the address is of its service',
  ],
  [
    /^SignatureDoesNotMatch\b|signature we calculated does not match/i,
    'check secretAccessKey; it does not belong to accessKeyId',
  ],
]

/** What to do about an answer, code and message, that refuses the key of a request; undefined for any other answer. */
export function keyRemedyOf(said: string): string | undefined {
  return remedies.find(([pattern]) => pattern.test(said))?.[1]
}
