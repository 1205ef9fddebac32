import { createHash } from 'node:crypto'
import { type Answer, headerOf } from '../../transport/exchange.ts'
import { elementOf, HttpStore, type Protocol } from '../objects/http-store.ts'
import type { Service, StoreDeps } from '../objects/store.ts'
import type { AzureBlobSinkConfig } from './config.ts'
import { authorise, type Credentials, credentialsOf } from './credentials.ts'
import { codeOf, isOverRights, readRefusal } from './refusals.ts'

/** The block blobs of one container of Azure Blob Storage. */
export const azureBlob: Service<AzureBlobSinkConfig> = {
  addressOf,
  open: (settings, deps) => new HttpStore(settings, protocolOf(settings, deps), deps),
  otherwise: () => 'events could be there twice or be lost: check that endpoint is one of Azure Blob Storage',
}

/** The version of the protocol that requests ask for. */
const version = '2023-11-03'

function addressOf(settings: AzureBlobSinkConfig): string {
  return `${baseOf(settings).href}${settings.prefix}`
}

function protocolOf(settings: AzureBlobSinkConfig, { clock }: StoreDeps): Protocol<Credentials> {
  const { account } = settings
  const isIdentity = settings.key === undefined && settings.sas === undefined
  return {
    address: addressOf(settings),
    base: baseOf(settings),
    metadataPrefix: 'x-ms-meta-',
    creation: { 'if-none-match': '*', 'x-ms-blob-type': 'BlockBlob' },
    credentials: credentialsOf(settings, () => clock.now()),
    async sign(request, used) {
      const { headers, body, nowMs } = request
      const url = new URL(request.url)
      // The container itself.
      url.pathname = url.pathname.replace(/\/$/, '')
      const own = {
        ...(body !== undefined && { 'content-md5': createHash('md5').update(body).digest('base64') }),
        'x-ms-date': new Date(nowMs).toUTCString(),
        'x-ms-version': version,
      }
      const signed = authorise({ ...request, url, headers: { ...headers, ...own } }, account, used)
      return { path: signed.url.pathname + signed.url.search, headers: signed.headers }
    },
    created,
    isMissing: (answer) => answer.status === 404 && /^(?:Blob|Resource)NotFound$/.test(codeOf(answer)),
    refusal: (answer, right) => readRefusal(answer, right, isIdentity),
    listing: (prefix, after) =>
      new URLSearchParams({
        restype: 'container',
        comp: 'list',
        prefix,
        ...(after !== undefined && { marker: after }),
      }),
    listed(xml) {
      if (!xml.includes('<EnumerationResults')) return undefined
      const objects = xml
        .split('<Blob>')
        .slice(1)
        .map((each) => ({
          key: elementOf(each, 'Name') ?? '',
          bytes: Number(elementOf(each, 'Content-Length')),
        }))
      const next = elementOf(xml, 'NextMarker') ?? ''
      return { objects, next: next === '' ? undefined : next }
    },
  }
}

function created(answer: Answer) {
  const { status } = answer
  const code = codeOf(answer)
  if (status === 201 && headerOf(answer, 'etag') !== undefined) return 'created'
  if (status === 412 || code === 'BlobAlreadyExists') return 'exists'
  // Credentials that may create and not overwrite are refused where the key is taken.
  if (status === 403 && isOverRights(code)) return 'refused'
  // Of the blob alone, such as one that a policy keeps: whose it is, a look tells.
  return status === 409 && !/^(?:Container|Account)/.test(code) ? 'unknown' : undefined
}

/** Where the keys begin; ends with a slash. */
function baseOf({ account, container, endpoint }: AzureBlobSinkConfig): URL {
  const base = new URL(endpoint ?? `https://${account}.blob.core.windows.net`)
  base.search = ''
  base.pathname = `${base.pathname.replace(/\/*$/, '')}/${container}/`
  return base
}
