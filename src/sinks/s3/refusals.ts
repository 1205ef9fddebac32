import { keyRemedyOf } from '../aws/credentials.ts'
import { type Answer, headerOf } from '../../transport/exchange.ts'
import { elementOf, type Refusal } from '../objects/http-store.ts'
import type { Right } from '../objects/store.ts'
import type { S3SinkConfig } from './config.ts'

const actions: Readonly<Record<Right, string>> = {
  create: 's3:PutObject',
  read: 's3:GetObject',
  list: 's3:ListBucket',
  remove: 's3:DeleteObject',
}

type Asked = Pick<S3SinkConfig, 'bucket' | 'prefix'> & { readonly right: Right }

const otherRegion =
  /^(?:AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect|Redirect|IllegalLocationConstraintException)$/
const slowDown = /^(?:SlowDown|Throttling(?:Exception)?|TooManyRequests|RequestLimitExceeded)$/
/** Of bytes that changed on the way, or did not arrive. */
const broken = /^(?:BadDigest|XAmzContentSHA256Mismatch|IncompleteBody)$/
const withoutBucket = 'create the bucket, or check bucket, region and endpoint'

/** Reads an answer that is neither a success nor one that the caller expects. `again`: it asks for a checksum. */
export function readRefusal(answer: Answer, asked: Asked): Refusal {
  const { status } = answer
  const text = answer.body.toString('utf8', 0, 65_536)
  const key = elementOf(text, 'Code') ?? ''
  const said = [key, elementOf(text, 'Message') ?? ''].filter(Boolean).join(': ')
  const stop = (remedy: string, more: { credentials?: true; again?: true } = {}): Refusal => {
    return { kind: 'stop', said, remedy, ...more }
  }
  const retry = (code: 'throttled' | 'timeout' | 'server_error'): Refusal => ({ kind: 'retry', code, said })

  if (key === 'RequestTimeTooSkewed') return stop("set this host's clock, for example by NTP")
  const region = headerOf(answer, 'x-amz-bucket-region') ?? elementOf(text, 'Region')
  if (otherRegion.test(key) || (status >= 300 && status < 400) || (status === 400 && region !== undefined))
    return stop(regionText(region, elementOf(text, 'Endpoint')))
  if (slowDown.test(key) || status === 429) return retry('throttled')
  if (key === 'RequestTimeout') return retry('timeout')
  if (broken.test(key) || status === 408) return retry('server_error')
  const keyRemedy = keyRemedyOf(said)
  if (keyRemedy !== undefined) return stop(keyRemedy, { credentials: true })
  if (/\bkms\b/i.test(said) && status < 500)
    return stop('check kmsKeyId, and allow these credentials kms:GenerateDataKey and kms:Decrypt on that key')
  if (status === 501 || key === 'NotImplemented')
    return stop('it does not implement what the request asks for: check storageClass and sse')
  if (/checksum|content-md5/i.test(said) && status === 400) {
    const asks =
      'the bucket asks for a checksum, as with Object Lock, and does not take x-amz-checksum-sha256'
    return stop(asks, { again: true })
  }
  if (key === 'InvalidStorageClass')
    return stop('this service does not have that storage class: check storageClass')
  if (key === 'NoSuchBucket') return stop(withoutBucket)
  if (status === 401 || status === 403) return stop(rightText(asked), { credentials: true })
  if (status === 404) return stop(withoutBucket)
  if (status === 407) return stop('check the credentials in HTTPS_PROXY or HTTP_PROXY')
  return status >= 500 ? retry('server_error') : stop('check the sink')
}

function regionText(region: string | undefined, endpoint: string | undefined): string {
  if (region !== undefined && region !== '') return `the bucket is in another region: set region to ${region}`
  if (endpoint !== undefined) return `the bucket is at ${endpoint}: set region, or endpoint, accordingly`
  return 'check region, endpoint and pathStyle: redirects are not followed'
}

function rightText({ bucket, prefix, right }: Asked): string {
  const on = right === 'list' ? `arn:aws:s3:::${bucket}` : `arn:aws:s3:::${bucket}/${prefix}*`
  // To a HEAD of a key that is free, AWS answers 403 to those who may not list.
  const more = right === 'read' ? `, and s3:ListBucket on arn:aws:s3:::${bucket}` : ''
  return `allow these credentials ${actions[right]} on ${on}${more}`
}

export function isWithoutBucket({ status, body }: Answer): boolean {
  return status === 404 && elementOf(body.toString(), 'Code') === 'NoSuchBucket'
}
