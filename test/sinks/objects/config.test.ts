import { expect, test } from 'vitest'
import { policyOf } from '../../../src/config/policy.ts'
import { errorsOf as errorsIn, load, printed } from '../../config/loading.ts'
import { sasOf } from '../../setup/azurite.ts'

const lake = { name: 'lake', type: 's3', bucket: 'waf', region: 'eu-central-1' }
const key = Buffer.alloc(64, 1).toString('base64')
const sas = sasOf('waf', 'rcl')
const blob = { name: 'lake', type: 'azure-blob', account: 'wafevents', container: 'waf', key }

const given = (sinks: readonly object[]) => ({
  yaml: JSON.stringify({ api: { accessKey: 'k' }, zones: [101], sinks }),
})
const withSinks = (...sinks: object[]) => load(given(sinks))
const errorsOf = (...sinks: object[]) =>
  errorsIn(given(sinks)).map(({ path, problem, remedy }) => `${path} ${problem}; ${remedy}`)

test.each([
  ['a bucket with its region', lake, { pathStyle: null, guarantee: 'exactly-once' }],
  ['account and container with a key', blob, {}],
])('%s are enough', (_what, sink, own) => {
  expect(withSinks(sink).config.sinks[0]).toMatchObject({
    prefix: '',
    endpoint: null,
    format: 'native',
    file: 'ndjson',
    compress: null,
    everySeconds: null,
    maxBytes: 16_777_216,
    ...own,
  })
})

const ofS3: readonly [object, string][] = [
  [{ bucket: 'WAF_events' }, 'sinks[0].bucket is not the name of a bucket; write the name alone'],
  [{ bucket: 's3://waf' }, 'sinks[0].bucket is not the name of a bucket; write the name alone'],
  [{ bucket: '192.168.1.1' }, 'sinks[0].bucket is not the name of a bucket'],
  [{ prefix: 'shield' }, 'sinks[0].prefix is not a prefix; end it with "/"'],
  [{ prefix: '/shield/' }, 'sinks[0].prefix is not a prefix; end it with "/" and begin without one'],
  [{ prefix: 'a/../b/' }, 'sinks[0].prefix is not a prefix'],
  [{ region: 'EU Central' }, 'sinks[0].region is not a region; write it as in eu-central-1'],
  [{ region: null }, 'sinks[0].region is missing; set the region of the bucket, or endpoint'],
  [{ endpoint: 's3.example' }, 'sinks[0].endpoint is not an http or https URL'],
  [{ endpoint: 'https://s3.example/?x=1' }, 'sinks[0].endpoint has a query; remove'],
  [{ format: 'cef' }, 'sinks[0].format is not an allowed value; write native | raw | ecs | ocsf | otlp'],
  [
    { accessKeyId: 'a' },
    'sinks[0].secretAccessKey is missing; set accessKeyId and secretAccessKey, or neither',
  ],
  [{ secretAccessKey: 'a' }, 'sinks[0].accessKeyId is missing'],
  [{ sessionToken: 'a' }, 'sinks[0].sessionToken is set without accessKeyId'],
  [
    { profile: 'p', accessKeyId: 'a', secretAccessKey: 'b' },
    'sinks[0].profile cannot be used with accessKeyId',
  ],
  [{ kmsKeyId: 'alias/x' }, 'sinks[0].kmsKeyId is set without encryption by it; set sse to aws:kms'],
  [
    { file: 'parquet', format: 'raw' },
    'sinks[0].format raw has no columns; file: parquet takes format native or ocsf',
  ],
  [
    { file: 'parquet', format: 'ecs' },
    'sinks[0].format ecs has no columns; file: parquet takes format native or ocsf',
  ],
  [{ file: 'parquet', format: 'otlp' }, 'sinks[0].format otlp has no columns'],
  [{ file: 'parquet', compress: 'zstd' }, 'sinks[0].compress is set with file: parquet; remove it'],
  [{ file: 'csv' }, 'sinks[0].file is not an allowed value; write ndjson | parquet'],
  [{ maxBytes: 65_535 }, 'sinks[0].maxBytes'],
  [{ buket: 'x' }, 'sinks[0].buket'],
]
const ofAzure: readonly [object, string][] = [
  [{ account: 'Waf-Events' }, 'sinks[0].account is not the name of a storage account; write the name alone'],
  [
    { account: 'wafevents.blob.core.windows.net' },
    'another address than ACCOUNT.blob.core.windows.net belongs into',
  ],
  [{ container: 'WAF' }, 'sinks[0].container is not the name of a container; write the name alone'],
  [{ container: 'a--b' }, 'sinks[0].container is not the name of a container'],
  [{ container: 'ab' }, 'sinks[0].container is not the name of a container'],
  [{ container: 'waf/shield' }, 'folders belong into prefix'],
  [{ endpoint: 'blob.example' }, 'sinks[0].endpoint is not an http or https URL'],
  [
    { endpoint: 'https://blob.example/?sv=1' },
    'sinks[0].endpoint has a query; remove "?" and everything after it; a shared access signature belongs into sas',
  ],
  [{ key: 'secret' }, 'sinks[0].key is not the key of a storage account; copy one of the two keys'],
  [{ key: `AccountName=wafevents;AccountKey=${key}` }, 'sinks[0].key is not the key of a storage account'],
  [{ clientSecret: 's', tenantId: 't', clientId: 'c' }, 'sinks[0].clientSecret cannot be used with key'],
  [
    { key: undefined, clientSecret: 's', tenantId: 't' },
    'sinks[0].clientId is missing; set tenantId, clientId and clientSecret',
  ],
  [{ key: undefined, clientSecret: 's', clientId: 'c' }, 'sinks[0].tenantId is missing; set tenantId'],
  [{ tenantId: 't' }, 'sinks[0].tenantId is set without clientSecret; set clientSecret, or remove it'],
  [{ sas }, 'sinks[0].sas cannot be used with key; set one of them'],
  [{ key: undefined, sas: 'sv=1' }, 'sinks[0].sas is not a shared access signature; copy the token alone'],
  [
    { key: undefined, sas: `https://wafevents.blob.core.windows.net/waf?${sas}` },
    'sinks[0].sas is not a shared',
  ],
  [{ guarantee: 'at-least-once' }, 'sinks[0].guarantee'],
]

test.each([
  ...ofS3.map(([changes, expected]) => [changes, expected, lake] as const),
  ...ofAzure.map(([changes, expected]) => [changes, expected, blob] as const),
])('%j is refused with a remedy: %s', (changes, expected, sink) => {
  const errors = errorsOf({ ...sink, ...changes })
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain(expected)
})

test.each([{}, { clientId: 'c' }, { tenantId: 't', clientId: 'c', clientSecret: 's' }])(
  '%j in place of a key is enough',
  (changes) => expect(errorsOf({ ...blob, key: undefined, ...changes })).toEqual([]),
)

test.each([
  [{}, 300],
  [{ file: 'parquet' }, 900],
  [{ file: 'parquet', format: 'ocsf', everySeconds: 20 }, 20],
])('%j is polled every %d s', (changes, seconds) => {
  const { everyMsOf } = policyOf(withSinks({ ...lake, ...changes }).config)
  expect(everyMsOf?.get('lake')).toBe(seconds * 1000)
})

test('two sinks may not share bucket and prefix', () => {
  const other = { ...lake, name: 'other' }
  expect(errorsOf(lake, other)).toEqual([
    'sinks[1].bucket is the same as sinks[0].bucket; give each sink a different bucket or prefix',
  ])
  expect(errorsOf(lake, { ...other, prefix: 'b/' })).toEqual([])
  expect(errorsOf(lake, { ...other, endpoint: 'https://s3.example' })).toEqual([])
  const at = (endpoint: string) => ({ endpoint, accessKeyId: 'a', secretAccessKey: 'b' })
  expect(
    errorsOf({ ...lake, ...at('https://s3.example') }, { ...other, ...at('https://S3.example/') }),
  ).toEqual(errorsOf(lake, other))
})

test('two sinks may not share account, container and prefix', () => {
  const other = { ...blob, name: 'other' }
  expect(errorsOf(blob, other)).toEqual([
    'sinks[1].container is the same as sinks[0].container; give each sink a different container or prefix',
  ])
  expect(errorsOf(blob, { ...other, prefix: 'b/' })).toEqual([])
  expect(errorsOf(blob, { ...other, account: 'another' })).toEqual([])
  expect(errorsOf(blob, { ...other, endpoint: 'https://blob.example' })).toEqual([])
})

test('secrets are never shown', () => {
  const secrets = { accessKeyId: 'AKIASHOWN', secretAccessKey: 'secret-shown', sessionToken: 'token-shown' }
  const { key: _key, ...rest } = blob
  const own = { ...rest, name: 'signed', prefix: 'b/', sas }
  const text = printed(withSinks({ ...lake, ...secrets }, { ...blob, name: 'blob' }, own))
  expect(text).not.toMatch(/shown/i)
  expect(text).not.toContain(key.slice(0, 20))
  expect(text).not.toContain(new URLSearchParams(sas).get('sig'))
  expect(text).toContain('bucket: waf')
})
