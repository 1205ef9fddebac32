import { readFileSync } from 'node:fs'
import { Failure, messageOf } from '../../domain/failure.ts'
import { isLoopback } from '../../domain/text/http-rules.ts'
import type { Secret } from '../../domain/text/secret.ts'
import { type AskedElsewhere, below } from '../http/protocol/preset.ts'
import { clientCredentials, type TokenSource } from '../http/tokens.ts'

/** The settings of an identity in Entra. */
export interface IdentitySettings {
  readonly tenantId: string | null
  readonly clientId: string | null
  readonly clientSecret?: Secret | undefined
  /** Of the storage; it tells which cloud issues the tokens. */
  readonly endpoint: string | null
}

type Environment = Readonly<Record<string, string | undefined>>

const resource = 'https://storage.azure.com/'
const scope = `${resource}.default`

/** Who issues tokens, by the end of the storage's host name: elsewhere the environment says it, or it is the public cloud. */
const authorities = {
  '.usgovcloudapi.net': 'https://login.microsoftonline.us',
  '.chinacloudapi.cn': 'https://login.partner.microsoftonline.cn',
}
const publicAuthority = 'https://login.microsoftonline.com'

/**
 * The application that the settings name, else the identity that Azure gives the process: workload identity of a pod,
 * managed identity of an app, else that of a host.
 */
export function tokenSourceOf(
  settings: IdentitySettings,
  environment: Environment = process.env,
): TokenSource {
  const { clientSecret, clientId } = settings
  if (clientSecret !== undefined) {
    const remedy = 'check tenantId, clientId and clientSecret'
    const request = (secret: string) => tokenRequest(settings, environment, { client_secret: secret })
    return { secret: () => clientSecret.reveal(), request, remedy }
  }
  const { AZURE_FEDERATED_TOKEN_FILE: file, IDENTITY_ENDPOINT: endpoint = '' } = environment
  if (file !== undefined && file !== '') return workloadIdentity(settings, file, environment)
  const header = environment['IDENTITY_HEADER'] ?? ''
  const isApp = endpoint !== '' && header !== ''
  const host = environment['AZURE_POD_IDENTITY_AUTHORITY_HOST'] ?? 'http://169.254.169.254'
  const url = new URL(isApp ? endpoint : below(host, '/metadata/identity/oauth2/token'))
  url.searchParams.set('api-version', isApp ? '2019-08-01' : '2018-02-01')
  url.searchParams.set('resource', resource)
  if (clientId !== null) url.searchParams.set('client_id', clientId)
  const remedy =
    'give the host or app a managed identity, set clientId to that of one it has, or set key, sas or clientSecret'
  return {
    secret: () => (isApp ? header : ''),
    request: (secret) => ({
      url,
      method: 'GET',
      headers: isApp ? { 'x-identity-header': secret } : { metadata: 'true' },
    }),
    remedy,
    unreachable: remedy,
  }
}

/** Of a pod: Kubernetes keeps a proof of who it is in a file. */
function workloadIdentity(settings: IdentitySettings, file: string, environment: Environment): TokenSource {
  const application = {
    ...settings,
    tenantId: environment['AZURE_TENANT_ID'] ?? null,
    clientId: settings.clientId ?? environment['AZURE_CLIENT_ID'] ?? null,
  }
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  return {
    secret() {
      try {
        return readFileSync(file, 'utf8').trim()
      } catch (error) {
        const why = `cannot read ${file}, which AZURE_FEDERATED_TOKEN_FILE names: ${messageOf(error)}`
        throw new Failure('stop', 'sink_refuses', why)
      }
    },
    request: (secret) =>
      tokenRequest(application, environment, { client_assertion_type: type, client_assertion: secret }),
    remedy:
      'check the federated credential of the identity, AZURE_TENANT_ID, and clientId or AZURE_CLIENT_ID',
  }
}

/** Throws Failure (stop). */
function tokenRequest(
  { tenantId, clientId, endpoint }: IdentitySettings,
  environment: Environment,
  proof: Readonly<Record<string, string>>,
): AskedElsewhere {
  const host = endpoint === null ? '' : new URL(endpoint).hostname
  const own = Object.entries(authorities).find(([end]) => host.endsWith(end))?.[1]
  const given = environment['AZURE_AUTHORITY_HOST'] ?? ''
  const authority = own ?? (given === '' ? publicAuthority : given)
  const url = URL.parse(below(authority, `/${encodeURIComponent(tenantId ?? '')}/oauth2/v2.0/token`))
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (url === null || !isSafe) {
    const why = 'AZURE_AUTHORITY_HOST is not an https URL: write one such as https://login.microsoftonline.us'
    throw new Failure('stop', 'sink_refuses', why)
  }
  return clientCredentials({ tokenUrl: url, clientId: clientId ?? '', scope }, proof)
}
