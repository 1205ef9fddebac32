import { type Answer, headerOf } from '../../transport/exchange.ts'
import { elementOf, type Refusal } from '../objects/http-store.ts'
import type { Right } from '../objects/store.ts'

/** What a shared access signature calls each right. */
const permissions: Readonly<Record<Right, string>> = {
  create: 'create (c)',
  read: 'read (r)',
  list: 'list (l)',
  remove: 'delete (d)',
}

const withoutContainer = 'create the container, or check account, container and endpoint'
const remedies: Readonly<Record<string, string>> = {
  ContainerNotFound: withoutContainer,
  ContainerBeingDeleted: 'the container is being deleted: wait, and create it again',
  ContainerDisabled: 'the container was disabled: enable it',
  AccountIsDisabled: 'the account is disabled: enable it, or use another one',
  AccountRequiresHttps: 'the account takes HTTPS only: begin endpoint with https://',
  AuthorizationProtocolMismatch: 'the shared access signature takes HTTPS only: begin endpoint with https://',
  AuthorizationSourceIPMismatch: 'the shared access signature does not allow the address of this host',
  AuthorizationServiceMismatch: 'the shared access signature is of another service: make one of Blob',
  AuthorizationResourceTypeMismatch:
    'make a shared access signature of the container, or of the account with the resource types container and object',
  KeyBasedAuthenticationNotPermitted:
    'the account takes no keys, and no signatures made with them: allow them there',
  BlobImmutableDueToPolicy: 'a policy of the container keeps it',
}

/** The code of an error: an answer to HEAD has no body. */
export function codeOf(answer: Answer): string {
  return headerOf(answer, 'x-ms-error-code') ?? elementOf(textOf(answer), 'Code') ?? ''
}

const textOf = ({ body }: Answer) => body.toString('utf8', 0, 65_536)

/** Reads an answer that is neither a success nor one that the caller expects. `isIdentity`: to a request with a token. */
export function readRefusal(answer: Answer, right: Right, isIdentity: boolean): Refusal {
  const { status } = answer
  const text = textOf(answer)
  const code = codeOf(answer)
  // The lines after the first have the number of the request and the time.
  const [message = ''] = (elementOf(text, 'Message') ?? '').split('\n')
  const said = [code, message].filter(Boolean).join(': ')
  const stop = (remedy: string, more: { credentials?: true } = {}): Refusal => {
    return { kind: 'stop', said, remedy, ...more }
  }
  const retry = (code: 'throttled' | 'timeout' | 'server_error'): Refusal => ({ kind: 'retry', code, said })

  if (code === 'ServerBusy' || status === 429) return retry('throttled')
  if (code === 'OperationTimedOut') return retry('timeout')
  // The bytes changed on the way.
  if (code === 'Md5Mismatch' || status === 408) return retry('server_error')
  const remedy = remedies[code]
  if (remedy !== undefined) return stop(remedy, status === 403 ? { credentials: true } : {})
  if (status === 401 || status === 403) {
    const detail = elementOf(text, 'AuthenticationErrorDetail') ?? ''
    const told = isIdentity ? identityText(code) : credentialsText(code, `${message} ${detail}`, right)
    return stop(told, { credentials: true })
  }
  if (status >= 300 && status < 400) return stop('check endpoint: redirects are not followed')
  if (status === 404) return stop(withoutContainer)
  if (status === 407) return stop('check the credentials in HTTPS_PROXY or HTTP_PROXY')
  return status >= 500 ? retry('server_error') : stop('check the sink')
}

function identityText(code: string): string {
  if (isOverRights(code))
    return 'assign the role Storage Blob Data Contributor on the container to the identity; a new role takes up to ten minutes'
  const rules = code === 'AuthorizationFailure' ? ', or a network rule of the account refuses this host' : ''
  return `check account, and that it is in the directory of the identity${rules}`
}

function credentialsText(code: string, said: string, right: Right): string {
  if (/date header (?:is )?too old/i.test(said)) return "set this host's clock, for example by NTP"
  if (/specified time frame/i.test(said))
    return 'the shared access signature is not valid now: make a new one, or set the clock of this host'
  if (isOverRights(code)) return `give these credentials the permission ${permissions[right]}`
  const rules = code === 'AuthorizationFailure' ? ', or a network rule of the account refuses this host' : ''
  return `check account, and key or sas: it is not of this account, was replaced or is revoked${rules}`
}

/** Whether an error says that the credentials are right and do not allow this. */
export function isOverRights(code: string): boolean {
  return /^(?:AuthorizationPermissionMismatch|UnauthorizedBlobOverwrite|InsufficientAccountPermissions)$/.test(
    code,
  )
}
