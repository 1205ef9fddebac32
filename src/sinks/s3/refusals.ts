import type { FailureKind, FailureCode } from '../../domain/failure.ts'
import { durationText } from '../../domain/text/time.ts'
import { httpDateOf } from '../../transport/retry.ts'
import { keyRemedyOf } from '../aws/refusals.ts'
import { headerOf } from '../http/answer-texts.ts'
import type { Answer } from '../http/protocol/preset.ts'
import { elementOf } from './xml.ts'

export type Right = 's3:PutObject' | 's3:GetObject' | 's3:ListBucket' | 's3:DeleteObject'

/** What an error answer means. The text says what to do. */
export interface Refusal {
  readonly kind: Extract<FailureKind, 'retry' | 'stop'>
  readonly code: Extract<FailureCode, 'throttled' | 'timeout' | 'server_error' | 'sink_refuses' | 'bad_body'>
  /** The error's own code and message, raw: mask and cut it. */
  readonly said: string
  readonly remedy: string
  /** Other credentials, or the same ones renewed, may be taken. */
  readonly credentials?: true
  /** The bucket asks for a checksum of each object. */
  readonly checksum?: true
}

export interface Asked {
  readonly bucket: string
  readonly prefix: string
  readonly right: Right
  readonly nowMs: number
}

const otherRegion = new Set([
  'AuthorizationHeaderMalformed',
  'PermanentRedirect',
  'TemporaryRedirect',
  'Redirect',
  'IllegalLocationConstraintException',
])
const slowDown = new Set([
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequests',
  'RequestLimitExceeded',
])
/** Of bytes that changed on the way, or did not arrive. */
const broken = new Set(['BadDigest', 'XAmzContentSHA256Mismatch', 'IncompleteBody', 'RequestTimeout'])
const settings: Readonly<Record<string, string>> = {
  NoSuchBucket: 'create the bucket, or check bucket, region and endpoint',
  InvalidBucketName: 'check bucket',
  InvalidStorageClass: 'this service does not have that storage class: check storageClass',
  InvalidObjectState: 'the object is in an archive, as with Glacier: restore it there first',
  EntityTooLarge: 'lower maxBytes',
  KeyTooLongError: 'shorten prefix',
  ObjectLockConfigurationNotFoundError: 'check the Object Lock configuration of the bucket',
  QuotaExceeded: 'raise the quota of the bucket, or remove objects that are no longer needed',
  AllAccessDisabled: 'the account of the bucket is suspended: ask its owner',
  UserSuspended: 'the account is suspended: ask its owner',
  NotSignedUp: 'sign the account up for the service',
}

/** Reads an answer that is neither a success nor one that the caller expects. */
export function readRefusal(answer: Answer, asked: Asked): Refusal {
  const { status } = answer
  const text = answer.body.toString('utf8', 0, 65_536)
  const key = elementOf(text, 'Code') ?? ''
  const message = elementOf(text, 'Message') ?? ''
  const said = [key, message].filter(Boolean).join(': ')
  const stop = (remedy: string, more: Partial<Refusal> = {}): Refusal => ({
    kind: 'stop',
    code: 'sink_refuses',
    said,
    remedy,
    ...more,
  })
  const retry = (code: Refusal['code']): Refusal => ({ kind: 'retry', code, said, remedy: '' })

  if (key === 'RequestTimeTooSkewed') return stop(skewText(answer, asked.nowMs))
  const region = headerOf(answer, 'x-amz-bucket-region') ?? elementOf(text, 'Region')
  if (otherRegion.has(key) || (status >= 300 && status < 400) || (status === 400 && region !== undefined))
    return stop(regionText(region, elementOf(text, 'Endpoint')))
  if (slowDown.has(key) || status === 429) return retry('throttled')
  if (broken.has(key) || status === 408) return retry(key === 'RequestTimeout' ? 'timeout' : 'server_error')
  const keyRemedy = keyRemedyOf(said)
  if (keyRemedy !== undefined) return stop(keyRemedy, { credentials: true })
  if (/^KMS\b|\bkms\b/i.test(said) && status < 500)
    return stop('check kmsKeyId, and allow these credentials kms:GenerateDataKey and kms:Decrypt on that key')
  if (status === 501 || key === 'NotImplemented')
    return stop('it does not implement what the request asks for: check storageClass and sse')
  if (/checksum|content-md5/i.test(said) && status === 400)
    return stop(
      'the bucket asks for a checksum, as with Object Lock, and does not take x-amz-checksum-sha256',
      {
        checksum: true,
      },
    )
  const own = settings[key]
  if (own !== undefined) return stop(own)
  if (status === 401 || status === 403) return stop(rightText(asked), { credentials: true })
  if (status === 404) return stop(settings['NoSuchBucket']!)
  if (status === 407) return stop('check the credentials in HTTPS_PROXY or HTTP_PROXY')
  if (status === 507) return stop(settings['QuotaExceeded']!)
  if (status >= 500) return retry('server_error')
  return stop('check the sink')
}

function skewText(answer: Answer, nowMs: number): string {
  const theirs = httpDateOf(headerOf(answer, 'date'))
  const set = "set this host's clock, for example by NTP"
  if (theirs === undefined) return set
  const seconds = Math.round((theirs - nowMs) / 1000)
  return `this host's clock is ${durationText(Math.abs(seconds))} ${seconds > 0 ? 'behind' : 'ahead of'} the service's; ${set}`
}

function regionText(region: string | undefined, endpoint: string | undefined): string {
  if (region !== undefined && region !== '') return `the bucket is in another region: set region to ${region}`
  if (endpoint !== undefined) return `the bucket is at ${endpoint}: set region, or endpoint, accordingly`
  return 'check region, endpoint and pathStyle: redirects are not followed'
}

function rightText({ bucket, prefix, right }: Asked): string {
  const on = right === 's3:ListBucket' ? `arn:aws:s3:::${bucket}` : `arn:aws:s3:::${bucket}/${prefix}*`
  // To a HEAD of a key that is free, AWS answers 403 to those who may not list.
  const more = right === 's3:GetObject' ? `, and s3:ListBucket on arn:aws:s3:::${bucket}` : ''
  return `allow these credentials ${right} on ${on}${more}`
}
