import { createHmac } from 'node:crypto'
import { Failure, isFailure } from '../../domain/failure.ts'
import type { SettingError } from '../../domain/text/http-rules.ts'
import type { Secret } from '../../domain/text/secret.ts'
import { createTokens } from '../http/tokens.ts'
import type { Protocol, Unsigned } from '../objects/http-store.ts'
import { type IdentitySettings, tokenSourceOf } from './identities.ts'

/** In plain text: never print them. Every text in it is a secret. */
export type Credentials =
  | { readonly key: string }
  /** The signature, as it is and as it was written, and all parameters. */
  | {
      readonly signature: string
      readonly written: string
      readonly parameters: readonly (readonly [string, string])[]
    }
  /** The header of a token. */
  | { readonly authorization: string }

interface Secrets {
  readonly key?: Secret | undefined
  readonly sas?: Secret | undefined
}

interface Settings extends Secrets, IdentitySettings {}

type Signed = Pick<Unsigned, 'url' | 'headers'>

export function keyError(text: string): SettingError | undefined {
  if (/^(?:[A-Za-z\d+/]{4})+(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/.test(text)) return undefined
  const remedy = 'copy one of the two keys of the account, not a connection string'
  return { problem: 'is not the key of a storage account', remedy }
}

export function sasError(text: string): SettingError | undefined {
  if (/^\??(?!https?:)[\x21-\x7e]+$/i.test(text) && signatureIn(text) !== null) return undefined
  const remedy = 'copy the token alone, the part of a SAS URL after "?", with its sig'
  return { problem: 'is not a shared access signature', remedy }
}

function signatureIn(sas: string): string | null {
  return new URLSearchParams(sas).get('sig')
}

/** The credentials for now: a key, a shared access signature, else tokens of an identity. */
export function credentialsOf(settings: Settings, nowMs: () => number): Protocol<Credentials>['credentials'] {
  const { key, sas, clientSecret } = settings
  if (key !== undefined || sas !== undefined) {
    const secretsNow = secretsOf({ key, sas }, nowMs)
    return async (refused) => secretsNow(refused !== undefined)
  }
  const tokens = createTokens(tokenSourceOf(settings))
  return async (used, ask) => {
    const refused = used !== undefined && 'authorization' in used ? { refused: { ...used } } : {}
    const asking = () => tokens({ nowMs: nowMs(), ask, ...refused })
    try {
      return await asking()
    } catch (error) {
      if (!isFailure(error, 'sink_refuses') || clientSecret?.reread() !== true) throw error
      return await asking()
    }
  }
}

/** `isRefused`: the service has just refused those of before. Throws Failure (stop). */
function secretsOf({ key, sas }: Secrets, nowMs: () => number) {
  return (isRefused: boolean): Credentials => {
    if (key !== undefined) return { key: readOf('key', key, keyError, isRefused) }
    const text = readOf('sas', sas!, sasError, isRefused)
    const parameters = [...new URLSearchParams(text)]
    const [, signature = ''] = parameters.find(([name]) => name === 'sig') ?? []
    if (isRefused) refuseEnded(parameters, nowMs())
    return { signature, written: /[?&]sig=([^&]*)/.exec(`?${text}`)?.[1] ?? '', parameters }
  }
}

/** A file may have other contents by now than those that the configuration was checked with, and get the right ones later. */
function readOf(
  setting: string,
  secret: Secret,
  errorOf: (text: string) => SettingError | undefined,
  isRefused: boolean,
): string {
  if (isRefused || errorOf(secret.reveal()) !== undefined) secret.reread()
  const error = errorOf(secret.reveal())
  if (error === undefined) return secret.reveal()
  throw new Failure('stop', 'sink_refuses', `${setting} ${error.problem}: ${error.remedy}`)
}

/** Services do not always say why they refuse a signature. */
function refuseEnded(parameters: readonly (readonly [string, string])[], nowMs: number): void {
  const [, end = ''] = parameters.find(([name]) => name === 'se') ?? []
  if (!(Date.parse(end) <= nowMs)) return
  throw new Failure('stop', 'sink_refuses', `sas has expired at ${end}: make a new one, or use a key`)
}

/** Adds what proves that the request is from who has the credentials. */
export function authorise(request: Unsigned, account: string, credentials: Credentials): Signed {
  const { url, headers } = request
  if ('authorization' in credentials) return { url, headers: { ...headers, ...credentials } }
  if ('key' in credentials) {
    const signature = createHmac('sha256', Buffer.from(credentials.key, 'base64'))
      .update(textToSign(request, account))
      .digest('base64')
    return { url, headers: { ...headers, authorization: `SharedKey ${account}:${signature}` } }
  }
  const signed = new URL(url)
  for (const [name, value] of credentials.parameters) signed.searchParams.append(name, value)
  return { url: signed, headers }
}

/** Headers of which a shared key signs the value alone, in their order. */
const signedHeaders = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
]

/** https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key */
function textToSign({ method, url, headers, body }: Unsigned, account: string): string {
  const length = body === undefined || body.length === 0 ? '' : String(body.length)
  const values = signedHeaders.map((name) => (name === 'content-length' ? length : (headers[name] ?? '')))
  const own = Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-'))
    .sort()
    .map((name) => `${name}:${headers[name]}`)
  const query = [...url.searchParams].map(([name, value]) => `${name}:${value}`).sort()
  return [method, ...values, ...own, `/${account}${url.pathname}`, ...query].join('\n')
}
