import { createHash } from 'node:crypto'
import { headerOf, isSuccess } from '../../transport/exchange.ts'
import { type Credentials, credentialsOf } from '../aws/credentials.ts'
import { createSigner } from '../aws/signer.ts'
import { elementOf, HttpStore, type Protocol } from '../objects/http-store.ts'
import type { Service } from '../objects/store.ts'
import type { S3SinkConfig } from './config.ts'
import { isWithoutBucket, readRefusal } from './refusals.ts'

/** The objects of one bucket of Amazon S3, or of a service like it. */
export const s3: Service<S3SinkConfig> = {
  addressOf,
  open: (settings, deps) => new HttpStore(settings, protocolOf(settings), deps),
  otherwise({ endpoint }) {
    const host = URL.parse(endpoint ?? '')?.hostname ?? ''
    const service = unable.find(([hosts]) => hosts.test(host))?.[1]
    const who = service === undefined ? '' : ` ${service} is known for it.`
    return `events could be there twice or be lost.${who} Use a service that does, or set guarantee: at-least-once`
  },
}

/** Services that do not create an object only where its key is free, by their addresses. */
const unable: readonly (readonly [RegExp, string])[] = [
  [/\.backblazeb2\.com$/, 'Backblaze B2'],
  [/(?:^|\.)storage\.googleapis\.com$/, 'The S3 interface of Google Cloud Storage'],
  [/\.oraclecloud\.com$/, 'Oracle Cloud'],
  [/\.digitaloceanspaces\.com$/, 'DigitalOcean Spaces'],
  [/\.your-objectstorage\.com$/, 'Hetzner Object Storage'],
]

function addressOf(settings: S3SinkConfig): string {
  const { endpoint, bucket, prefix } = settings
  return endpoint === null ? `s3://${bucket}/${prefix}` : `${baseOf(settings).href}${prefix}`
}

function protocolOf(settings: S3SinkConfig): Protocol<Credentials> {
  const { bucket, prefix, endpoint, guarantee, storageClass, sse, kmsKeyId } = settings
  const base = baseOf(settings)
  const isUnconditional = guarantee === 'at-least-once'
  const sign = createSigner('s3', settings.region ?? 'us-east-1')
  const credentials = credentialsOf(settings)
  /** AWS verifies it for all, and buckets with Object Lock ask for it; some other services refuse it. */
  let sendsChecksum = endpoint === null
  return {
    address: addressOf(settings),
    base,
    metadataPrefix: 'x-amz-meta-',
    isUnconditional,
    creation: {
      ...(!isUnconditional && { 'if-none-match': '*' }),
      ...(storageClass !== null && { 'x-amz-storage-class': storageClass }),
      ...(sse !== null && { 'x-amz-server-side-encryption': sse }),
      ...(kmsKeyId !== null && { 'x-amz-server-side-encryption-aws-kms-key-id': kmsKeyId }),
    },
    credentials,
    async sign({ method, url: { href: url }, headers, body, nowMs }, used) {
      const digest = createHash('sha256')
        .update(body ?? '')
        .digest()
      const checksum = body !== undefined &&
        sendsChecksum && { 'x-amz-checksum-sha256': digest.toString('base64') }
      return await sign({ method, url, headers: { ...headers, ...checksum }, digest, nowMs }, used)
    },
    created(answer) {
      if (answer.status === 412) return 'exists'
      if (answer.status === 409) return 'unknown'
      return isSuccess(answer.status) && headerOf(answer, 'etag') !== undefined ? 'created' : undefined
    },
    isMissing: (answer) => answer.status === 404 && !isWithoutBucket(answer),
    refusal(answer, right) {
      const refusal = readRefusal(answer, { bucket, prefix, right })
      if (refusal.kind === 'stop') sendsChecksum ||= refusal.again === true
      return refusal
    },
    listing: (prefix, after) =>
      new URLSearchParams({
        'list-type': '2',
        prefix,
        'encoding-type': 'url',
        ...(after !== undefined && { 'continuation-token': after }),
      }),
    listed(xml) {
      if (!xml.includes('<ListBucketResult')) return undefined
      const isEncoded = elementOf(xml, 'EncodingType') === 'url'
      const objects = xml
        .split('<Contents>')
        .slice(1)
        .map((each) => {
          const key = elementOf(each, 'Key') ?? ''
          const bytes = Number(elementOf(each, 'Size'))
          return { key: isEncoded ? decodeURIComponent(key.replaceAll('+', ' ')) : key, bytes }
        })
      if (elementOf(xml, 'IsTruncated') !== 'true') return { objects, next: undefined }
      // A service that knows only the first version of listings would leave out the rest.
      const next = elementOf(xml, 'NextContinuationToken') ?? ''
      return next === '' ? undefined : { objects, next }
    },
  }
}

/** Where the keys begin; ends with a slash. */
function baseOf({ bucket, region, endpoint, pathStyle }: S3SinkConfig): URL {
  const domain = region?.startsWith('cn-') === true ? 'amazonaws.com.cn' : 'amazonaws.com'
  const base = new URL(endpoint ?? `https://s3.${region}.${domain}`)
  base.search = ''
  base.pathname = base.pathname.replace(/\/*$/, '/')
  // The certificate of AWS covers no name with further dots.
  if (pathStyle ?? (endpoint !== null || bucket.includes('.'))) base.pathname += `${bucket}/`
  else base.hostname = `${bucket}.${base.hostname}`
  return base
}
