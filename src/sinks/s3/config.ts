import * as z from 'zod'
import {
  addIssue,
  choice,
  described,
  httpUrl,
  jsonFormatNames,
  name,
  onAnySink,
  patternText,
} from '../../fields/fields.ts'
import type { SettingError } from '../../domain/text/http-rules.ts'
import { awsKeyFields, checkAwsKeys, awsRegion } from '../aws/settings.ts'
import { checkFile, objectFields } from '../objects/settings.ts'

const Bucket = patternText(
  /^(?!\d+(?:\.\d+){3}$|xn--|.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  'is not the name of a bucket',
  'write the name alone, 3 to 63 lower-case letters, digits, "-" and "."; folders belong into prefix, the server into endpoint',
  'Bucket that the objects go to; it must exist',
)

const StorageClass = patternText(
  /^[A-Z0-9_]{1,64}$/,
  'is not a storage class',
  'write it as in STANDARD_IA',
  'Storage class of the objects',
)

const KmsKey = patternText(
  /^[\w:/-]{1,2048}$/,
  'is not the id of a key',
  'write the id, the ARN or the alias of the key',
  'Key of aws:kms',
)

const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null)

const Settings = z.strictObject({
  type: described(z.literal('s3'), 'Kind of sink'),
  name: name('Name of the sink; a new name begins with new checkpoints').default('s3'),
  format: choice(jsonFormatNames, 'Format of each event'),
  ...onAnySink,
  bucket: Bucket,
  region: orNull(awsRegion('Region of the bucket', 'write it as in eu-central-1; R2 takes auto')),
  endpoint: described(
    httpUrl('', 'set accessKeyId and secretAccessKey').nullable().default(null),
    'Address of the service, without the bucket; default: AWS in that region',
    { kind: 'url' },
  ),
  pathStyle: described(
    z.boolean().nullable().default(null),
    'Whether the bucket is in the path, not in the host name; default: true where endpoint is set',
  ),
  ...awsKeyFields,
  ...objectFields,
  guarantee: choice(
    ['exactly-once', 'at-least-once'],
    'at-least-once also takes services without conditional writes, and may ship events twice',
  ),
  storageClass: orNull(StorageClass),
  sse: described(z.enum(['AES256', 'aws:kms']).nullable().default(null), 'Encryption by the service'),
  kmsKeyId: orNull(KmsKey),
})

export const S3SinkConfig = Settings.describe(
  'Objects in a bucket of Amazon S3 or a service like it, with each event exactly once',
).superRefine((settings, context) => {
  const { endpoint, region, kmsKeyId, sse } = settings
  const mistaken = (at: keyof S3SinkConfig, error: SettingError) => addIssue(context, error, [at])
  const remedy = 'set the region of the bucket, or endpoint for a service other than AWS'
  if (endpoint === null && region === null) mistaken('region', { problem: 'is missing', remedy })
  if (endpoint !== null && new URL(endpoint).search !== '')
    mistaken('endpoint', { problem: 'has a query', remedy: 'remove "?" and everything after it' })
  checkAwsKeys(settings, context)
  checkFile(settings, context)
  if (kmsKeyId !== null && sse !== 'aws:kms')
    mistaken('kmsKeyId', { problem: 'is set without encryption by it', remedy: 'set sse to aws:kms' })
})
export type S3SinkConfig = Readonly<z.output<typeof Settings>>
